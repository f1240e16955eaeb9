"""The fourth step: two topics."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from adapters.onboarding.hearing import Event, Said, Somebody
from adapters.onboarding.progress import Ground, Topic
from adapters.onboarding.visit import Visit
from adapters.telegram.asking import Unanswered, Why

DEFAULTS = ("Front Desk", "Career")
_MAX_NAME = 128
_LAST_WORD_S = 10.0


async def opened(visit: Visit, ground: Ground, operator: Somebody) -> tuple[Topic, Topic]:
    """Two topics of that chat. Those of the last time are not made again."""
    topics = await _kept(visit, ground)
    for number, topic in enumerate(topics):
        if not topic.made:
            taken = [one.title for one in topics if one.made or one in topics[:number]]
            topics[number] = replace(topic, title=await _name(visit, number, topic.title, taken))
    visit.note(replace(visit.progress, topics=tuple(topics)))
    for number, topic in enumerate(topics):
        if not topic.made:
            topics[number] = await _made(visit, ground, operator, number, topic.title)
            visit.note(visit.progress.with_topic(number, topics[number]))
            visit.console.say(f"✓ The topic “{topic.title}” is there.")
    first, second = topics
    return first, second


async def _kept(visit: Visit, ground: Ground) -> list[Topic]:
    """Two, of which those are made that are there and wanted."""
    known = [*visit.progress.topics[:2]]
    known += [Topic(name) for name in DEFAULTS if name not in [topic.title for topic in known]][: 2 - len(known)]
    there = [topic for topic in known if topic.made and await _exists(visit, ground, topic)]
    if there:
        names = " and ".join(f"“{topic.title}”" for topic in there)
        which = "which are" if len(there) > 1 else "which is"
        if not await visit.console.yes(f"Go on with {names}, {which} there already?", default=True):
            there = []
    return [topic if topic in there else Topic(topic.title) for topic in known]


async def _exists(visit: Visit, ground: Ground, topic: Topic) -> bool:
    try:
        await visit.sure("sendChatAction", chat_id=ground.id, message_thread_id=topic.thread, action="typing")
    except Unanswered as error:
        return "closed" in error.reason.lower()
    return True


async def _name(visit: Visit, number: int, default: str, taken: Sequence[str]) -> str:
    while True:
        name = await visit.console.ask(f"Name of the {('first', 'second')[number]} topic", default)
        if not name.isprintable() or len(name) > _MAX_NAME:
            visit.console.say(f"Telegram takes names of up to {_MAX_NAME} characters, in one line.")
        elif name.casefold() in map(str.casefold, taken):
            visit.console.say("That is the other one's name.")
        else:
            return name


async def _made(visit: Visit, ground: Ground, operator: Somebody, number: int, name: str) -> Topic:
    while True:
        try:
            return await _to_its_end(visit, ground, number, name)
        except Unanswered as error:
            if error.why is Why.REFUSED:
                visit.console.say(f"Telegram does not make “{name}”: {error.reason}. Set that right in the chat.")
                await visit.console.pause("Once that is done")
            elif error.why is Why.UNSURE:
                if (found := await _perhaps_made(visit, ground, operator, name)) is not None:
                    return found
            else:
                await visit.settle(error)


async def _to_its_end(visit: Visit, ground: Ground, number: int, name: str) -> Topic:
    """A topic that is being made is not forgotten where the setup is broken off: it would be made again."""

    async def make() -> Topic:
        made = await visit.asking.ask("createForumTopic", chat_id=ground.id, name=name)
        topic = Topic(name, int(made["message_thread_id"]))
        visit.note(visit.progress.with_topic(number, topic))
        return topic

    making = asyncio.ensure_future(make())
    try:
        return await asyncio.shield(making)
    except asyncio.CancelledError:
        await asyncio.wait([making], timeout=_LAST_WORD_S)
        raise


async def _perhaps_made(visit: Visit, ground: Ground, operator: Somebody, name: str) -> Topic | None:
    """None where the person has looked, and it is not there."""
    visit.console.say(
        f"Telegram did not say whether it has made “{name}”. Look into the chat: if it is there, write /here"
    )
    visit.console.say("in it; if it is not, press Enter.")

    def pick(event: Event) -> int | None:
        match event:
            case Said(person, room, "/here", int(thread)) if (person.id, room.id) == (operator.id, ground.id):
                return thread
        return None

    thread = await visit.hear("waiting for /here in that topic; Enter: it is not there", pick)
    return Topic(name, thread) if thread is not None else None
