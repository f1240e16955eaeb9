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
    await _kept(visit, ground)
    made = visit.progress.topics
    names = [topic.title for topic in made]
    while len(names) < 2:
        names.append(await _name(visit, names))
    for name in names[len(made) :]:
        topic = await _made(visit, ground, operator, name)
        if topic not in visit.progress.topics:
            visit.note(visit.progress.with_topic(topic))
        visit.console.say(f"✓ The topic “{name}” is there.")
    first, second = visit.progress.topics
    return first, second


async def _kept(visit: Visit, ground: Ground) -> None:
    """Forgets the topics that are not there any more, or that are not wanted."""
    there = [topic for topic in visit.progress.topics[:2] if await _exists(visit, ground, topic)]
    if there:
        names = " and ".join(f"“{topic.title}”" for topic in there)
        if not await visit.console.yes(f"Go on with {names}, which is there already?", default=True):
            there = []
    visit.note(replace(visit.progress, topics=tuple(there)))


async def _exists(visit: Visit, ground: Ground, topic: Topic) -> bool:
    try:
        await visit.sure("sendChatAction", chat_id=ground.id, message_thread_id=topic.thread, action="typing")
    except Unanswered as error:
        return "closed" in error.reason.lower()
    return True


async def _name(visit: Visit, taken: Sequence[str]) -> str:
    free = next(name for name in DEFAULTS if name not in taken)
    while True:
        name = await visit.console.ask(f"Name of the {('first', 'second')[len(taken)]} topic", free)
        if not name.isprintable() or len(name) > _MAX_NAME:
            visit.console.say(f"Telegram takes names of up to {_MAX_NAME} characters, in one line.")
        elif name.casefold() in map(str.casefold, taken):
            visit.console.say("That is the other one's name.")
        else:
            return name


async def _made(visit: Visit, ground: Ground, operator: Somebody, name: str) -> Topic:
    while True:
        try:
            return await _to_its_end(visit, ground, name)
        except Unanswered as error:
            if error.why is Why.REFUSED:
                visit.console.say(f"Telegram does not make “{name}”: {error.reason}. Set that right in the group.")
                await visit.console.pause("Once that is done")
            elif error.why is Why.UNSURE:
                if (found := await _perhaps_made(visit, ground, operator, name)) is not None:
                    return found
            else:
                await visit.settle(error)


async def _to_its_end(visit: Visit, ground: Ground, name: str) -> Topic:
    """A topic that is being made is not forgotten where the setup is broken off: it would be made again."""

    async def make() -> Topic:
        made = await visit.asking.ask("createForumTopic", chat_id=ground.id, name=name)
        topic = Topic(name, int(made["message_thread_id"]))
        visit.note(visit.progress.with_topic(topic))
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
