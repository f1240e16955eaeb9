"""Nothing that Telegram brings is admitted but what somebody who may says in a place of the bridge, there and then."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

from adapters.telegram.chat import TelegramChat
from bridge.audit import ActKind
from bridge.decision import Effect
from bridge.ids import Place
from bridge.message import Origin, State
from bridge.ports.chat import Intake
from bridge.post import Button
from tests.adapters.telegram.stage import (
    CAREER,
    DESK,
    DESK_PLACE,
    FORUM,
    OPERATOR,
    USER,
    FlyingClock,
    RememberingIntake,
    chat_for,
    post,
)
from tests.fakes.bot_api import BotApi
from tests.fakes.bot_api.people import Said
from tests.fakes.bot_api.repertoire import Act, edits, happens, says, touches
from tests.fakes.chat import FakeChat
from tests.flow.stage import Stage, rule, session, stage

Json = dict[str, Any]

CHAT: Json = {"id": FORUM, "type": "supergroup", "title": "Office", "is_forum": True}
CHANNEL: Json = {"id": -100777, "type": "channel", "title": "News"}
ELSEWHERE: Json = {"id": -100888, "type": "supergroup", "title": "Elsewhere"}
PERSON: Json = {"id": OPERATOR, "is_bot": False, "first_name": "Olga"}
STRANGER: Json = {"id": 999, "is_bot": False, "first_name": "Sven"}
BOT: Json = {"id": 5, "is_bot": True, "first_name": "Helper", "username": "helper_bot"}
COMMAND = "/handoff career hello"


def words(**more: Any) -> Json:
    """A command, as the operator would write it in the topic of desk."""
    said: Json = {
        "message_id": 900,
        "date": 1_800_000_000,
        "chat": CHAT,
        "from": PERSON,
        "message_thread_id": DESK,
        "is_topic_message": True,
        "text": COMMAND,
        "entities": [{"type": "bot_command", "offset": 0, "length": 8}],
    }
    return {name: value for name, value in (said | more).items() if value is not None}


def forwarded(**origin: Any) -> Json:
    return {"message": words(forward_origin={"date": 1_700_000_000, **origin})}


POST = words(chat=CHANNEL, sender_chat=CHANNEL, message_thread_id=None, is_topic_message=None, **{"from": None})

UPDATES: dict[str, Json] = {
    "edited": {"edited_message": words(edit_date=1_800_000_001)},
    "edited by a stranger": {"edited_message": words(edit_date=1_800_000_001, **{"from": STRANGER})},
    "posted in a channel": {"channel_post": POST},
    "edited in a channel": {"edited_channel_post": POST | {"edit_date": 1_800_000_001}},
    "said in a channel": {"message": POST | {"from": PERSON}},
    "handed on from a channel": {"message": words(sender_chat=CHANNEL, is_automatic_forward=True)},
    "forwarded of a person": forwarded(type="user", sender_user=STRANGER),
    "forwarded of one's own": forwarded(type="user", sender_user=PERSON),
    "forwarded of somebody hidden": forwarded(type="hidden_user", sender_user_name="Sven"),
    "forwarded of a group": forwarded(type="chat", sender_chat=ELSEWHERE),
    "forwarded of a channel": forwarded(type="channel", chat=CHANNEL, message_id=1),
    "forwarded with space before it": {
        "message": forwarded(type="user", sender_user=BOT)["message"] | {"text": f"\n {COMMAND}", "entities": []}
    },
    "forwarded as a caption": {
        "message": words(
            text=None,
            entities=None,
            caption=COMMAND,
            photo=[{"file_id": "p", "file_unique_id": "p", "width": 9, "height": 9}],
            forward_origin={"type": "user", "date": 1_700_000_000, "sender_user": STRANGER},
        )
    },
    "written by a bot that was called inline": {"message": words(via_bot=BOT)},
    "said by a bot": {"message": words(**{"from": BOT})},
    "said by a stranger": {"message": words(**{"from": STRANGER})},
    "said elsewhere": {"message": words(chat=ELSEWHERE, message_thread_id=None, is_topic_message=None)},
    "said for a business": {"business_message": words(business_connection_id="b")},
    "asked inline": {"inline_query": {"id": "1", "from": PERSON, "query": COMMAND, "offset": ""}},
    "chosen inline": {"chosen_inline_result": {"result_id": "1", "from": PERSON, "query": COMMAND}},
}


def pressed(action: str, **more: Any) -> Json:
    return {"callback_query": {"id": "7", "from": PERSON, "chat_instance": "1", "data": action, **more}}


class Office:
    """A whole exchange behind the real adapter: desk may hand work to career, and the shell has to ask."""

    def __init__(self, on: Stage, api: BotApi) -> None:
        self.on = on
        self._api = api
        self._done = asyncio.Condition()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.on.exchange.inbound, name)

    async def done(self, source: str, number: int, error: str | None = None) -> None:
        await self.on.exchange.inbound.done(source, number, error)
        async with self._done:
            self._done.notify_all()

    async def takes(self, update: Json) -> None:
        """Waits until the update, and all before it, are done with."""
        self._api.raw(update)
        async with asyncio.timeout(5), self._done:
            await self._done.wait()
        assert await self.on.store.unhandled("telegram") == []


@asynccontextmanager
async def office(api: BotApi, clock: FlyingClock) -> AsyncIterator[Office]:
    chat: TelegramChat = chat_for(api, clock)
    declared = (
        session("desk", places=(DESK_PLACE,)),
        session("career", places=(Place(f"telegram:{FORUM}/{CAREER}"),)),
    )
    rules = [rule("default/desk", "default/career"), rule("default/shell", "default/career", effect=Effect.ASK)]
    async with stage(*declared, rules=rules, chat=cast(FakeChat, chat)) as on:
        here = Office(on, api)
        running = asyncio.create_task(chat.run(cast(Intake, here), on.exchange.menu))
        try:
            await api.until(lambda: api.updates.polling)
            yield here
        finally:
            running.cancel()
            await asyncio.wait([running])


async def test_no_command_is_taken_from_an_update_that_is_not_somebodys_own_words(
    api: BotApi, clock: FlyingClock
) -> None:
    async with office(api, clock) as here:
        on = here.on
        for number, (what, update) in enumerate(UPDATES.items(), 900):
            numbered = {
                kind: body | ({"message_id": number} if "message_id" in body else {}) for kind, body in update.items()
            }
            await here.takes(numbered)
            assert await on.store.recent_verdicts(None, 9) == [], what
        api.say(COMMAND, chat=FORUM, thread=DESK, user=OPERATOR)
        await api.seen(lambda sent: "→ career" in sent.text)
        (admitted,) = await on.store.recent_verdicts(None, 9)
        assert (admitted.recipient, admitted.origin, admitted.code) == ("default/career", Origin.USER, None)


async def test_what_is_forwarded_is_heard_as_what_another_says(api: BotApi, clock: FlyingClock) -> None:
    async with office(api, clock) as here:
        origin = {"type": "user", "date": 1_700_000_000, "sender_user": STRANGER}
        await here.takes({"message": words(text="is this serious?", entities=[], forward_origin=origin)})
        await here.on.quiet()
        ((_, prompt),) = here.on.runtime.prompts
        assert prompt.words is None
        assert [one.text for one in prompt.attachments] == ["is this serious?"]


async def test_no_button_is_pressed_from_elsewhere(api: BotApi, clock: FlyingClock) -> None:
    async with office(api, clock) as here:
        on = here.on
        held = await on.send("career", "of the shell")
        shown = await api.seen(lambda sent: "needs your approval" in sent.text)
        action = f"ok:{held.message_id}"
        message = {"message_id": shown.message_id, "date": 1_800_000_000}
        for update in (
            pressed(action, inline_message_id="inline"),
            pressed(action, message=message | {"chat": CHANNEL}),
            pressed(action, message=message | {"chat": ELSEWHERE}),
            pressed(action, message=message | {"chat": ELSEWHERE, "date": 0}),
            pressed(action, message=message | {"chat": CHAT}, **{"from": STRANGER}),
            pressed(action, message=message | {"chat": CHAT}, **{"from": BOT}),
            pressed(action),
        ):
            await here.takes(update)
            assert (await on.message(held.message_id)).state is State.HELD, update
        assert await refused(on) == []

        user = {"id": USER, "is_bot": False, "first_name": "Ugo"}
        private = {"id": USER, "type": "private", "first_name": "Ugo"}
        for where in (CHAT, private):
            await here.takes(pressed(action, message=message | {"chat": where}, **{"from": user}))
            assert (await on.message(held.message_id)).state is State.HELD, where
        assert await refused(on) == [f"telegram:{USER}"] * 2

        api.press(shown, action, OPERATOR)
        await api.seen(lambda sent: "Approved once" in sent.text)
        assert (await on.message(held.message_id)).state is not State.HELD


async def refused(on: Stage) -> list[str]:
    """Who has tried what they may not, as the audit shows."""
    return [one.by for one in await on.store.recent_acts(None, 9) if one.act is ActKind.REFUSED]


ELSEWHERE_FORUM, GROUP, NEWS = -1009, -55, -1004
STRANGER_ID, BOT_ID = 999, 888
CLOCKWORK = {"last", "keep", "unhandled", "done", "recall", "remember", "names"}


class Watched:
    """An intake that tells what was asked of it but to keep what came."""

    def __init__(self, intake: RememberingIntake) -> None:
        self._intake = intake
        self.asked: list[object] = []

    def __getattr__(self, name: str) -> Any:
        if name in CLOCKWORK:
            return getattr(self._intake, name)

        async def asked(*arguments: object) -> str:
            self.asked.append((name, *arguments))
            return ""

        return asked


def nobodys(api: BotApi) -> Iterator[Act]:
    """What they do who are nobody here, and what somebody does where the bot is not to listen."""
    api.forum(ELSEWHERE_FORUM, topics={DESK: "Desk"})
    api.group(GROUP)
    api.channel(NEWS)
    api.private(STRANGER_ID, topics={DESK: "Desk"})
    for chat, thread in ((FORUM, DESK), (FORUM, None), (GROUP, None)):
        where: Said = {"chat": chat, "thread": thread}
        yield from says(api, STRANGER_ID, **where)
        yield from edits(api, says(api, STRANGER_ID, **where), chat)
        yield from happens(api, STRANGER_ID, chat, thread)
        speakers: Sequence[Said] = ({"bot": True}, {"anonymous": True}, {"as_channel": NEWS})
        for speaker in speakers:
            spoken: Said = {**where, **speaker}
            yield from says(api, BOT_ID if speaker.get("bot") else OPERATOR, **spoken)
    yield from says(api, OPERATOR, chat=ELSEWHERE_FORUM, thread=DESK)
    yield from edits(api, says(api, OPERATOR, chat=ELSEWHERE_FORUM, thread=DESK), ELSEWHERE_FORUM)
    yield from says(api, STRANGER_ID, thread=DESK)
    yield from edits(api, says(api, STRANGER_ID), STRANGER_ID)
    yield "posted in a channel", partial(api.post, "/stop all", chat=NEWS)
    yield "handed on from a channel", partial(api.post, "/stop all", chat=NEWS, linked=FORUM)


async def test_whatever_somebody_does_who_is_nobody_here_means_nothing(
    api: BotApi, clock: FlyingClock, intake: RememberingIntake
) -> None:
    watched = Watched(intake)
    chat = chat_for(api, clock, chats=frozenset({FORUM, GROUP}))
    running = asyncio.create_task(chat.run(cast(Intake, watched), {}))
    try:
        await api.until(lambda: api.updates.polling)
        await chat.deliver(post("Is it so?", buttons=(Button("Yes", "ok:1"),)))
        for _, act in (*nobodys(api), *touches(api, STRANGER_ID, api.sent(FORUM, DESK))):
            act()
        last = api.updates.pending[-1]["update_id"]
        await intake.until(lambda: last in intake.finished and len(intake.finished) == len(intake.kept))
        assert watched.asked == []
        assert not any(intake.finished.values())
        assert len(api.history) == 1
        assert not api.answers
    finally:
        running.cancel()
        await asyncio.wait([running])
