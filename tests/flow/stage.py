"""A whole exchange over the memory store, with agents as coroutines and a room for each session."""

import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import fields
from itertools import count
from weakref import WeakKeyDictionary

from adapters.gateway.hub import Hub
from adapters.gateway.runtime import WithGateways
from adapters.memory.store import MemoryStore
from bridge.audit import Act, ActKind
from bridge.caller import Caller
from bridge.decision import Effect, Verb
from bridge.errors import Refused
from bridge.flow.exchange import LOCAL, Exchange
from bridge.flow.hosts import Gone
from bridge.flow.terminals import never
from bridge.ids import MessageId, NodeId, Place, SessionId
from bridge.limits import Limits
from bridge.message import Intent, Message, Origin
from bridge.ports.chat import Heard, Person, Pressed
from bridge.ports.files import Files
from bridge.ports.store import Store
from bridge.post import Post
from bridge.request import Request
from bridge.session import Declared, Habits, Kind
from bridge.views import AnswerView, Mail, Receipt, Received, Send
from policy.decide import Rules
from policy.rules import Rule
from policy.selectors import selector
from tests.fakes.chat import FakeChat
from tests.fakes.clock import ManualClock, settled
from tests.fakes.runtime import Behaviour, FakeAgent, FakeRuntime

OPERATOR = Person("room:1", "Olga", operator=True)
USER = Person("room:2", "Ugo", operator=False)
HABITS = {each.name for each in fields(Habits)}
ALL = (Verb.DISCOVER, Verb.SEND, Verb.ASK, Verb.WAKE)


def rule(sender: str, recipient: str, verbs: Sequence[Verb] = ALL, effect: Effect = Effect.ALLOW) -> Rule:
    return Rule((selector(sender),), (selector(recipient),), frozenset(verbs), effect, f"{sender}->{recipient}", None)


def session(handle: str, *, agent: str | None = "fake", **more: object) -> Declared:
    kind = Kind.CHAT if agent else Kind.SHELL
    places = (room(handle),) if agent else ()
    habits = Habits(**{name: more.pop(name) for name in more.keys() & HABITS})  # type: ignore[arg-type]
    given = {"places": places, "habits": habits, **more}
    return Declared(ident(handle), handle.title(), kind, agent=agent, **given)  # type: ignore[arg-type]


def room(handle: str) -> Place:
    return Place(f"room:{handle}")


def ident(handle: str) -> SessionId:
    return SessionId(f"default/{handle}")


_said = count(1)


class Tools:
    """What an agent can call, with the identity that its token gives it."""

    def __init__(self, exchange: Exchange, agent: FakeAgent) -> None:
        self._exchange = exchange
        self._agent = agent

    async def caller(self) -> Caller:
        bound = self._exchange.token_session(self._agent.token)
        assert bound is not None
        return await self._exchange.caller(None, origin=Origin.PEER, bound=bound)

    async def send(
        self, to: str, text: str, *, intent: Intent = Intent.REQUEST, wake: bool = True, **more: object
    ) -> Receipt:
        send = Send(to, text, intent, wake, **more)  # type: ignore[arg-type]
        return await self._exchange.send(await self.caller(), send)

    async def ask(self, to: str, text: str, timeout_s: float = 5) -> AnswerView:
        return await self._exchange.ask(await self.caller(), Send(to, text), timeout_s)

    async def spawn(self, task: str, *, agent: str = "helper", title: str = "A helper") -> Receipt:
        return await self._exchange.spawn(await self.caller(), agent, title, task)

    async def receive(self, limit: int = 50) -> Received:
        return await self._exchange.receive(await self.caller(), limit)

    async def told(self) -> bool:
        """Whether the result of a tool that is called now says that mail waits."""
        return await self._exchange.mail_waits(await self.caller())

    async def reply(self, message_id: str, text: str, kind: str = "answer") -> Receipt:
        return await self._exchange.reply(await self.caller(), message_id, text, kind)

    async def defer(self, message_id: str) -> None:
        await self._exchange.defer(await self.caller(), message_id)

    async def cancel(self, message_id: str) -> AnswerView:
        return await self._exchange.cancel(await self.caller(), message_id)

    async def ack(self, *message_ids: str) -> list[str]:
        return await self._exchange.ack(await self.caller(), list(message_ids))


class Stage:
    def __init__(
        self, exchange: Exchange, store: Store, chat: FakeChat, runtime: FakeRuntime, clock: ManualClock
    ) -> None:
        self.exchange = exchange
        self.store = store
        self.chat = chat
        self.runtime = runtime
        self.clock = clock

    def agent(self, handle: str, behaviour: Behaviour) -> None:
        self.runtime.behaviours[ident(handle)] = behaviour

    def helper(self, behaviour: Behaviour, agent: str = "helper") -> None:
        """What the children do that are spawned for that agent."""
        self.runtime.of_agents[agent] = behaviour

    def tools(self, agent: FakeAgent) -> Tools:
        return Tools(self.exchange, agent)

    async def say(
        self, handle: str, text: str, person: Person = OPERATOR, *, key: str | None = None, to: Post | None = None
    ) -> str:
        """Returns the id of the input that it became, or an empty text. It may reply `to` a post."""
        key = key or f"room:{handle}:{next(_said)}"
        receipt = self.chat.receipts[to.key] if to is not None else None
        await self.exchange.inbound.hear(Heard(room(handle), person, text, key, reply_to=receipt))
        kept = await self.store.key(ident(handle), key)
        return kept.message if kept else ""

    async def press(self, handle: str, label: str, person: Person = OPERATOR) -> str:
        """Presses the newest button of that label in a room."""
        found = [
            (button.action, self.chat.receipts[post.key])
            for post in self.chat.posts.values()
            if post.place == room(handle)
            for button in post.buttons
            if button.label == label
        ]
        assert found, f"no button {label!r} in {handle}"
        return await self.exchange.inbound.press(Pressed(room(handle), person, *found[-1]))

    async def press_when_seen(self, handle: str, label: str, text: str) -> str:
        """Presses it once a post in the room says `text`."""
        await self.chat.seen(room(handle), text)
        return await self.press(handle, label)

    async def shell(self, handle: str = "shell", origin: Origin = Origin.PEER) -> Caller:
        return await self.exchange.caller(f"default/{handle}", origin=origin, bound=None)

    async def send(
        self, to: str, text: str, *, caller: Caller | None = None, wake: bool = True, **more: object
    ) -> Receipt:
        send = Send(to, text, wake=wake, **more)  # type: ignore[arg-type]
        return await self.exchange.send(caller or await self.shell(), send)

    async def refused(self, to: str, text: str = "hello", *, caller: Caller | None = None, **more: object) -> Refused:
        try:
            await self.send(to, text, caller=caller, **more)  # type: ignore[arg-type]
        except Refused as refused:
            return refused
        raise AssertionError(f"{to} took it")

    async def inbox(self, handle: str = "shell") -> list[Mail]:
        return await self.exchange.inbox(await self.shell(handle, Origin.USER), None, take=False)

    async def message(self, message_id: str) -> Message:
        message = await self.store.message(MessageId(message_id))
        assert message is not None
        return message

    async def request(self, message_id: str) -> Request:
        request = await self.store.request(MessageId(message_id))
        assert request is not None
        return request

    async def quiet(self) -> None:
        """Lets everything run that can run without the time's moving."""
        await settled()


async def person(on: Stage) -> Caller:
    """Whoever sits at a terminal."""
    return await on.shell(origin=Origin.USER)


async def acts(on: Stage) -> list[tuple[ActKind, str]]:
    """What was done to what agents may do, and by whom, the oldest first."""
    page, _ = await on.exchange.oversight.audit(await person(on), None, 50)
    return [(one.act, one.by) for one in reversed(page) if isinstance(one, Act)]


_LIVES: WeakKeyDictionary[Store, int] = WeakKeyDictionary()
"""How often a bridge has lived on a store: no two lives draw the same ids."""


@asynccontextmanager
async def stage(
    *sessions: Declared,
    rules: Sequence[Rule] = (),
    limits: Limits | None = None,
    store: Store | None = None,
    chat: FakeChat | None = None,
    runtime: FakeRuntime | None = None,
    clock: ManualClock | None = None,
    node: str = LOCAL,
    seed: int = 7,
    confirm_in_chat: bool = True,
    gone: Gone = never,
    gateways: Hub | None = None,
    files: Files | None = None,
) -> AsyncIterator[Stage]:
    """Without `rules` everybody may do everything. Give the same store again to act a restart, and another `node`
    to act a second bridge."""
    chat = chat or FakeChat()
    store = store or MemoryStore()
    runtime = runtime or FakeRuntime()
    clock = clock or ManualClock()
    linked = WithGateways(runtime, gateways or Hub(0))
    lives = _LIVES[store] = _LIVES.get(store, 0) + 1
    exchange = Exchange(
        profile="default",
        version="test",
        pid=1,
        store=store,
        store_name="memory",
        policy=Rules(rules or [rule("*", "*")]),
        runtime=runtime if gateways is None else linked,
        present=linked.present if gateways is not None else lambda agent: True,
        chats={chat.scheme: chat},
        clock=clock,
        randomness=random.Random(f"{seed}/{lives}"),
        limits=limits or Limits(stop_grace_s=0.05),
        tools={},
        node=NodeId(node),
        confirm_in_chat=confirm_in_chat,
        gone=gone,
        files=files,
    )
    async with exchange:
        await exchange.start(sessions)
        await exchange.begin()
        yield Stage(exchange, store, chat, runtime, clock)
        await exchange.drain()
