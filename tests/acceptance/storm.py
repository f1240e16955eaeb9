"""A storm over Telegram: a crowd of topics, an API that holds the bot back and lies to it, and a bridge that is cut off
and starts again over the same store. Only the agents are acted; what stands between them and the API is real."""

import asyncio
import random
import re
import sqlite3
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path

from adapters.sqlite.store import SqliteStore, open_store
from adapters.telegram.chat import TelegramChat
from adapters.telegram.config import Patience, TelegramConfig
from bridge.flow.exchange import Exchange
from bridge.ids import Place, SessionId
from bridge.limits import Limits
from bridge.ports.runtime import Prompt
from bridge.post import PostKind
from bridge.session import Busy, Declared, Habits, Kind
from policy.decide import Rules
from tests.fakes.bot_api import BotApi, Sent
from tests.fakes.runtime import FakeAgent, FakeRuntime

OPERATOR = 111
PATIENCE_S = 150
PROGRESS_S = 10
TURN_S = {Busy.QUEUE: 8, Busy.COLLECT: 45}
_PARKED = re.compile(r"Run it again\?\n“(\S+) (\d+)”")


class Agents(FakeRuntime):
    """Agents that remember what they were asked, so that a lost turn can be proven to have done nothing."""

    def began(self, session: SessionId, prompt: Prompt) -> None:
        super().began(session, prompt)
        self.histories[session] = next(agent.history for agent in reversed(self.agents) if agent.session == session)


class FastClock:
    """Time that passes so many times as fast as in the world, for the bridge and for the API alike."""

    def __init__(self, scale: float) -> None:
        self._scale = scale
        self._began = time.monotonic()

    def now(self) -> float:
        return 1_800_000_000 + (time.monotonic() - self._began) * self._scale

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(max(0.0, seconds) / self._scale)


@dataclass(frozen=True, slots=True)
class Topic:
    """One place with a session of its own."""

    handle: str
    chat: int
    thread: int | None
    busy: Busy = Busy.QUEUE

    @property
    def at(self) -> tuple[int, int | None]:
        return self.chat, self.thread

    @property
    def session(self) -> SessionId:
        return SessionId(f"default/{self.handle}")

    @property
    def place(self) -> Place:
        return Place(f"telegram:{self.chat}" + (f"/{self.thread}" if self.thread else ""))


@dataclass
class Storm:
    """`said` is what people have said to each session, in order. A text says to which session, and its number there;
    the answer to it repeats both."""

    api: BotApi
    clock: FastClock
    topics: Sequence[Topic]
    path: Path
    patience: Patience
    said: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    ambiguous: Counter[str] = field(default_factory=Counter)
    """How often nobody could know of an answer whether it had been shown, by its text, since the bridge was cut off."""
    runtime: Agents = field(default_factory=Agents)
    _bridge: asyncio.Task[None] | None = None
    _lives: int = 0
    _busy: dict[str, Busy] = field(default_factory=dict)

    def say(self, topic: Topic) -> None:
        self.said[topic.handle] += 1
        text = f"{topic.handle} {self.said[topic.handle]}"
        self.api.say(text, user=OPERATOR, chat=topic.chat, thread=topic.thread)

    async def start(self) -> None:
        self._lives += 1
        up = asyncio.Event()
        self._bridge = asyncio.create_task(self._live(up))
        waiting = asyncio.create_task(up.wait())
        await asyncio.wait([waiting, self._bridge], return_when=asyncio.FIRST_COMPLETED)
        if not up.is_set():
            self._bridge.result()

    async def cut(self) -> None:
        """The bridge ends where it is, in the middle of whatever it does."""
        assert self._bridge is not None
        self._bridge.cancel()
        with suppress(asyncio.CancelledError):
            await self._bridge
        await asyncio.sleep(0.2)  # what is on its way arrives still
        shown = Counter(sent.text for sent in self.api.history if not sent.edited)
        store = await open_store(self.path)
        for post in await store.pending_posts("telegram"):
            if post.kind is PostKind.FINAL and post.receipt is None and shown[post.text]:
                self.ambiguous[post.text] += 1
        await store.close()

    async def recreated(self, topic: Topic) -> Topic:
        """The one that is made in the stead of a deleted one."""
        topics = self.api.room(topic.chat).topics
        before = set(topics)
        await self.api.until(lambda: set(topics) > before, PATIENCE_S)
        (thread,) = set(topics) - before
        return replace(topic, thread=thread)

    async def heard(self) -> None:
        """Waits until the bridge is through with all that was said. It tells nobody, so that its store is asked."""
        async with asyncio.timeout(PATIENCE_S):
            while self.api.updates.pending or self._updates("handled_at IS NULL"):  # noqa: ASYNC110
                await asyncio.sleep(0.1)

    def set_aside(self) -> int:
        """How many updates could not be read."""
        return self._updates("error IS NOT NULL")

    def _updates(self, which: str) -> int:
        with closing(sqlite3.connect(f"{self.path.as_uri()}?mode=ro", uri=True)) as store:
            (count,) = store.execute(f"SELECT count(*) FROM updates WHERE {which}").fetchone()
        return int(count)

    async def _live(self, up: asyncio.Event) -> None:
        store = await open_store(self.path)
        try:
            await self._run(store, up)
        finally:
            await store.close()

    async def _run(self, store: SqliteStore, up: asyncio.Event) -> None:
        randomness = random.Random(f"storm/{self._lives}")
        config = TelegramConfig(
            token=self.api.token,
            base_url=self.api.base_url,
            operators=frozenset({OPERATOR}),
            chats=frozenset(topic.chat for topic in self.topics),
        )
        moves = await store.moves()
        chat = TelegramChat(config, self.clock, randomness, patience=self.patience, moves=moves)
        exchange = Exchange(
            profile="default",
            version="test",
            pid=1,
            store=store,
            store_name="sqlite",
            policy=Rules([]),
            runtime=self.runtime,
            chats={chat.scheme: chat},
            clock=self.clock,
            randomness=randomness,
            limits=Limits(lease_s=900, stop_grace_s=1, progress_every_s=PROGRESS_S),
            tools={},
            health=chat.health,
        )
        async with exchange:
            await exchange.start([self._declared(topic) for topic in self.topics])
            await exchange.begin()
            up.set()
            await chat.run(exchange.inbound, exchange.menu)

    def _declared(self, topic: Topic) -> Declared:
        self.runtime.behaviours[topic.session] = self._answer
        self._busy[topic.session] = topic.busy
        return Declared(
            topic.session,
            topic.handle.title(),
            Kind.CHAT,
            agent="fake",
            places=(topic.place,),
            habits=Habits(busy=topic.busy),
        )

    async def _answer(self, agent: FakeAgent, prompt: Prompt) -> str:
        await self.clock.sleep(TURN_S[self._busy[agent.session]])
        asked = [line.split() for line in (prompt.words or "").split("\n") if line]
        return _answer(asked[0][0], [int(number) for _, number in asked])


def _answer(handle: str, numbers: Iterable[int]) -> str:
    return f"{handle} answers {' '.join(map(str, numbers))}"


class Verdict:
    """What people have seen of the answers, taken from what the API showed, as it comes."""

    def __init__(self, storm: Storm) -> None:
        self._storm = storm
        self._taken = 0
        self._answered = 0
        self._retried: set[str] = set()
        self.shown: dict[str, list[list[int]]] = defaultdict(list)
        """The numbers that the answers of each session name, in the order in which they were sent."""
        self.places: dict[str, list[tuple[int, int | None]]] = defaultdict(list)
        """Where they were sent: chats, and topics in them."""

        self.parked: dict[str, set[int]] = defaultdict(set)
        """What an operator was asked about, since the agent could not prove that it had done nothing: it is later."""

    async def shows(self, share: float) -> None:
        """Waits until so much of what was said has been answered."""
        said = sum(self._storm.said.values())
        await self._storm.api.until(lambda: self._take() >= share * said, PATIENCE_S)

    async def complete(self) -> None:
        await self.shows(1)

    def faults(self) -> Iterator[str]:
        """Each answer is there once, but once more for each time when nobody could know, and in order."""
        self._take()
        unknown = Counter(sent.text for sent in self._storm.api.unconfirmed if not sent.edited)
        unknown += self._storm.ambiguous
        for handle, count in self._storm.said.items():
            shown = self.shown[handle]
            for numbers, copies in Counter(map(tuple, shown)).items():
                if copies > 1 + unknown[_answer(handle, numbers)]:
                    yield f"{handle}: the answer to {numbers} was sent {copies} times"
            once = [number for numbers, _ in groupby(shown) for number in numbers]
            in_order = [number for number in once if number not in self.parked[handle]]
            if sorted(once) != list(range(1, count + 1)) or in_order != sorted(in_order):
                yield f"{handle}: {count} inputs were answered as {shown}, {self.parked[handle]} after a question"

    def _take(self) -> int:
        """Returns how many have been answered."""
        history = self._storm.api.history
        for sent in history[self._taken :]:
            handle, answers, numbers = sent.text.partition(" answers ")
            if answers and not sent.edited:
                new = [int(number) for number in numbers.split()]
                self._answered += len(set(new).difference(number for each in self.shown[handle] for number in each))
                self.shown[handle].append(new)
                self.places[handle].append((sent.chat, sent.thread))
            self._have_it_retried(sent)
        self._taken = len(history)
        return self._answered

    def _have_it_retried(self, sent: Sent) -> None:
        """The operator has every lost input tried again that the bridge asks about."""
        for handle, number in _PARKED.findall(sent.text):
            self.parked[handle].add(int(number))
        for _, action in sent.buttons:
            if action.startswith("retry:") and action not in self._retried:
                self._retried.add(action)
                self._storm.api.press(sent, action, OPERATOR)


def overspent(api: BotApi, chats: Sequence[int], rates: Mapping[float, int]) -> Iterator[str]:
    """`rates` is how many requests there may be in windows of so many seconds; one more is let pass."""
    for chat in chats:
        for per_s, count in rates.items():
            most = api.busiest(chat, per_s)
            if most > count + 1:
                yield f"{chat}: {most} requests in {per_s} s"
