"""What a session may not discover cannot be told from what does not exist (invariant 12).

Each way to ask about a session, a message or a conversation is gone twice: with one that the caller may not discover,
and with one that is not there. What is said is the same but for the name, and so is what the store is asked and told,
which is what takes time.
"""

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from adapters.memory.store import MemoryStore
from bridge.caller import Caller
from bridge.errors import Refused
from bridge.flow.exchange import Exchange
from bridge.ids import SessionId
from bridge.message import Intent, Origin
from bridge.ports.chat import Person
from bridge.ports.runtime import Prompt
from bridge.ports.store import Change
from bridge.session import Busy, Kind, Session, Source
from bridge.views import Send
from tests.fakes.counted import counted
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import HABITS, OPERATOR, USER, Stage, ident, rule, session, stage

RULES = [rule("default/desk", "default/finance"), rule("default/shell", "default/secret")]
MISSING = "01a3185c-0000-7000-8000-000000000000"

Way = Callable[[Exchange, Caller, str], Awaitable[object]]


SESSIONS: dict[str, Way] = {
    "Exchange.send": lambda e, by, name: e.send(by, Send(name, "hello")),
    "Exchange.send a handoff": lambda e, by, name: e.send(by, Send(name, "hello", wake=True)),
    "Exchange.send news": lambda e, by, name: e.send(by, Send(name, "hello", Intent.INFORM, wake=True)),
    "Exchange.send at length": lambda e, by, name: e.send(by, Send(name, "x" * 8_000)),
    "Exchange.send with a key": lambda e, by, name: e.send(by, Send(name, "hello", key="once")),
    "Exchange.send as a reply": lambda e, by, name: e.send(by, Send(name, "hello", in_reply_to=MISSING)),
    "Exchange.ask": lambda e, by, name: e.ask(by, Send(name, "hello"), 1),
    "Exchange.inbox": lambda e, by, name: e.inbox(by, name, take=False),
    "Exchange.inbox to take": lambda e, by, name: e.inbox(by, name, take=True),
    "Exchange.wait_inbox": lambda e, by, name: e.wait_inbox(by, name, set(), 0),
    "Exchange.stop": lambda e, by, name: e.stop(by, name, True),
    "Exchange.resume": lambda e, by, name: e.resume(by, name),
    "Exchange.make_topic": lambda e, by, name: e.make_topic(by, name, None),
    "Exchange.renew": lambda e, by, name: e.renew(by, name),
    "Exchange.make_token": lambda e, by, name: e.make_token(by, name, "client"),
    "Exchange.tokens_of": lambda e, by, name: e.tokens_of(by, name),
    "Exchange.revoke_token": lambda e, by, name: e.revoke_token(by, name, "client"),
    "Exchange.new_session": lambda e, by, name: e.new_session(by, name, None, None, None, None),
    "Exchange.sessions": lambda e, by, name: e.sessions(by, active=False, cursor=f"default/{name}"),
    "Exchange.trace": lambda e, by, name: e.trace(by, name),
    "Exchange.caller": lambda e, by, name: e.caller(name, origin=Origin.PEER, bound=None),
}
"""By the method, and where it has several ways the way."""

MESSAGES: dict[str, Way] = {
    "Exchange.send": lambda e, by, which: e.send(by, Send("finance", "hello", in_reply_to=which)),
    "Exchange.send to its sender": lambda e, by, which: e.send(by, Send("shell", "hello", in_reply_to=which)),
    "Exchange.ask": lambda e, by, which: e.ask(by, Send("finance", "hello", in_reply_to=which), 1),
    "Exchange.answer": lambda e, by, which: e.answer(by, which, 0),
    "Exchange.answer after a while": lambda e, by, which: e.answer(by, which, 1),
    "Exchange.read_answer": lambda e, by, which: e.read_answer(by, which),
    "Exchange.cancel": lambda e, by, which: e.cancel(by, which),
    "Exchange.reply": lambda e, by, which: e.reply(by, which, "yes"),
    "Exchange.reply with a question": lambda e, by, which: e.reply(by, which, "which?", "question"),
    "Exchange.reply with nothing": lambda e, by, which: e.reply(by, which, ""),
    "Exchange.defer": lambda e, by, which: e.defer(by, which),
    "Exchange.ack": lambda e, by, which: e.ack(by, [which]),
    "Exchange.trace": lambda e, by, which: e.trace(by, which),
}

NOTHING_TO_ASK_ABOUT = {
    "Exchange.spawn",
    *("Exchange.start", "Exchange.begin", "Exchange.drain", "Exchange.redeclare"),
    "Exchange.thread_session",
    *("Exchange.receive", "Exchange.mail_waits", "Exchange.status", "Exchange.turned_away"),
}

STATES: dict[str, dict[str, object]] = {
    "idle": {},
    "closed": {"closed_at": 1.0},
    "paused": {"paused": "log in again"},
    "stopped": {"rested": True},
    "taking no handoffs": {"accept_wake": False},
    "narrow": {"inbox_limit": 1, "max_chars": 1},
    "asleep": {"quiet": ("00:00-12:00", "12:00-23:59")},
    "hidden": {"hidden": True},
    "taking handoffs when idle": {"busy": Busy.REJECT},
    "labelled": {"tags": ("office",), "project": "home"},
}


class Scene:
    """`desk` may send to finance, and the shell to secret: neither desk nor a program has to do with secret."""

    def __init__(self, on: Stage, asked: list[object]) -> None:
        self.on = on
        self._asked = asked

    async def same(self, way: Way, by: Caller, hidden: str, instead: str) -> None:
        await self._gone(way, by, instead)  # whatever it is about, the first finds caches empty
        assert await self._gone(way, by, hidden) == await self._gone(way, by, instead)

    async def _gone(self, way: Way, by: Caller, name: str) -> tuple[str, list[object]]:
        """What is said, and what the store was asked and told meanwhile."""
        await self.on.quiet()
        self._asked.clear()
        try:
            said = repr(await way(self.on.exchange, by, name))
        except Refused as refused:
            said = repr(refused.as_json())
        return said.replace(name, "NAME"), [*self._asked]


@asynccontextmanager
async def scene(**secret: object) -> AsyncIterator[Scene]:
    store, asked = counted(MemoryStore())
    declared = session("desk"), session("finance"), session("secret"), session("tool", agent=None)
    async with stage(*declared, rules=RULES, store=store) as on:
        for name in (ident("secret"), SessionId("work/secret")):
            known = await store.session(name) or Session(name, "Secret", Kind.CHAT, Source.RUNTIME, 0.0)
            habits = replace(known.habits, **{each: secret[each] for each in secret.keys() & HABITS})  # type: ignore[arg-type]
            own = {each: secret[each] for each in secret.keys() - HABITS}
            await store.commit(Change(puts=[replace(known, habits=habits, **own)]))  # type: ignore[arg-type]
        yield Scene(on, asked)


def agent(handle: str) -> Caller:
    return Caller(ident(handle), Origin.PEER, bound=True)


@pytest.mark.parametrize("path", SESSIONS)
async def test_a_session_that_may_not_be_seen_is_as_one_that_is_not_there(path: str) -> None:
    async with scene() as one:
        for by in (agent("desk"), await one.on.shell("tool")):
            await one.same(SESSIONS[path], by, "secret", "sealed")
            await one.same(SESSIONS[path], by, "work/secret", "work/sealed")


@pytest.mark.parametrize("state", STATES)
async def test_nothing_shows_in_which_state_it_is(state: str) -> None:
    async with scene(**STATES[state]) as one:
        for path, way in SESSIONS.items():
            if path.startswith(("Exchange.send", "Exchange.ask")):
                await one.same(way, agent("desk"), "secret", "sealed")


async def test_nothing_shows_that_it_is_at_work_or_has_mail() -> None:
    async with scene(busy=Busy.REJECT) as one:

        async def works(agent: FakeAgent, prompt: Prompt) -> str:
            await asyncio.Event().wait()
            return ""

        one.on.agent("secret", works)
        await one.on.say("secret", "work")
        await one.on.quiet()
        for number in range(3):
            await one.on.send("secret", f"{number}", wake=False)
        for path in ("Exchange.send a handoff", "Exchange.ask"):
            await one.same(SESSIONS[path], agent("desk"), "secret", "sealed")


@pytest.mark.parametrize("path", SESSIONS)
async def test_in_a_turn_too(path: str) -> None:
    async with scene() as one:
        calling: asyncio.Future[Caller] = asyncio.get_running_loop().create_future()

        async def desk(agent: FakeAgent, prompt: Prompt) -> str:
            calling.set_result(await one.on.tools(agent).caller())
            await asyncio.Event().wait()
            return ""

        one.on.agent("desk", desk)
        await one.on.say("desk", "look")
        await one.same(SESSIONS[path], await calling, "secret", "sealed")


@pytest.mark.parametrize("path", MESSAGES)
async def test_a_message_of_others_is_as_one_that_is_not_there(path: str) -> None:
    async with scene() as one:

        async def secret(agent: FakeAgent, prompt: Prompt) -> str:
            await one.on.tools(agent).receive()
            return "done"

        one.on.agent("secret", secret)
        waits = await one.on.send("secret", "a request that waits", wake=False)
        answered = await one.on.send("secret", "one that was answered")
        said = await one.on.say("secret", "a person's word")
        await one.on.quiet()
        reply = (await one.on.request(answered.message_id)).closing
        assert reply is not None
        for by in (agent("desk"), await one.on.shell("tool")):
            for which in (waits.message_id, answered.message_id, reply, said, waits.conversation_id):
                await one.same(MESSAGES[path], by, which, MISSING)


@pytest.mark.parametrize("command", ["/ask", "/handoff"])
@pytest.mark.parametrize("who", [OPERATOR, USER])
async def test_a_person_is_told_nothing_of_another_profile(command: str, who: Person) -> None:
    async with scene() as one:

        async def told(exchange: Exchange, by: Caller, name: str) -> list[str]:
            before = len(one.on.chat.deliveries)
            await one.on.say("desk", f"{command} {name} hello", who)
            await one.on.quiet()
            return [post.text.replace(name, "NAME") for post in one.on.chat.deliveries[before:]]

        person = await one.on.shell("desk", Origin.USER)
        await one.same(told, person, "work/secret", "work/sealed")
        for path in ("Exchange.send", "Exchange.send a handoff", "Exchange.ask", "Exchange.inbox", "Exchange.stop"):
            await one.same(SESSIONS[path], person, "work/secret", "work/sealed")


def test_every_method_of_the_core_is_gone_or_asks_about_nothing() -> None:
    gone = {path.split(" ")[0] for path in (*SESSIONS, *MESSAGES)}
    there = {
        f"Exchange.{name}"
        for name, _ in inspect.getmembers(Exchange, inspect.iscoroutinefunction)
        if not name.startswith("_")
    }
    assert gone | NOTHING_TO_ASK_ABOUT == there
