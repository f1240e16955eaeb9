"""What the tests of Telegram run the adapter with: a clock whose pauses fly by, and an intake that remembers."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence, Set
from contextlib import asynccontextmanager, nullcontext

from adapters.telegram.budget import Rate, Rates
from adapters.telegram.chat import TelegramChat
from adapters.telegram.config import Patience, TelegramConfig, Webhook
from adapters.telegram.joining import QUIET_S
from adapters.telegram.sole import Claim
from bridge.errors import Code, Refused
from bridge.flow.overtaking import overtaken_by
from bridge.ids import Place, PostId
from bridge.move import Move
from bridge.ports.chat import Happening, Heard, MenuLine, Overtakes, Pressed
from bridge.ports.clock import Clock
from bridge.ports.files import Files
from bridge.post import Button, Post, PostKind
from tests.fakes.bot_api import BotApi

OPERATOR, USER, STRANGER = 111, 222, 999
FORUM = -1001234
DESK, CAREER = 42, 43
DESK_PLACE = Place(f"telegram:{FORUM}/{DESK}")

PATIENT = Patience(answer_s=10, poll_s=5)
IMPATIENT = Patience(answer_s=1, poll_s=5)
"""For what never answers: no test has to wait longer than that."""


MENU = {"ask": MenuLine("Ask a session", files=True), "stop": MenuLine("Stop the turn", operators_only=True)}


class Halfway:
    """Chance that always falls in the middle."""

    def getrandbits(self, k: int, /) -> int:
        return 1 << (k - 1)

    def random(self) -> float:
        return 0.5


class FlyingClock:
    """Time passes as in the world, and a pause of any length is over at once, with its time gone by."""

    def __init__(self) -> None:
        self._flown = 1_800_000_000.0
        self.pauses: list[float] = []
        self._paused = asyncio.Condition()

    def now(self) -> float:
        return self._flown + asyncio.get_running_loop().time()

    def fly(self, seconds: float) -> None:
        self._flown += seconds

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.fly(seconds)
        async with self._paused:
            self._paused.notify_all()
        await asyncio.sleep(0.01)  # real, so that an attempt after another does not become a busy loop

    async def paused(self, times: int) -> None:
        async with asyncio.timeout(5), self._paused:
            await self._paused.wait_for(lambda: len(self.pauses) >= times)


class LateClock:
    """The time of the world, and what it was set ahead by."""

    def __init__(self) -> None:
        self._ahead = 1_800_000_000.0

    def now(self) -> float:
        return self._ahead + asyncio.get_running_loop().time()

    def fly(self, seconds: float) -> None:
        self._ahead += seconds

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Patient(FlyingClock):
    """A pause that is as long as the one between parts lasts until it is over by `pass_by`."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = 0
        self._over = asyncio.Event()
        self._entered = asyncio.Condition()

    async def sleep(self, seconds: float) -> None:
        if seconds > QUIET_S:
            await super().sleep(seconds)
            return
        until, over = self.now() + seconds, self._over
        async with self._entered:
            self.waiting += 1
            self._entered.notify_all()
        await over.wait()
        self.fly(max(0.0, until - self.now()))

    def pass_by(self) -> None:
        self._over.set()
        self._over = asyncio.Event()

    async def waited_for(self, times: int) -> None:
        async with asyncio.timeout(5), self._entered:
            await self._entered.wait_for(lambda: self.waiting >= times)


class RememberingIntake:
    """An intake in memory, with the guarantees of the port; what it holds outlives the chats that use it.

    While `away` is set, the store is away. `dies` is raised once by the next `hear`. What
    is said at a place in `slow` takes until its event, and so do presses there.
    """

    def __init__(self) -> None:
        self.kept: dict[int, str] = {}
        self.finished: dict[int, str | None] = {}
        self.heard: list[Heard] = []
        self.edited: list[Heard] = []
        self.outranked: list[Heard] = []
        self.held_up: list[Heard] = []
        self.unbound: set[Place] = set()
        self.bound_to: set[Place] = set()
        self.moved: list[list[Place]] = []
        self.pressed: list[Pressed] = []
        self.happenings: list[Happening] = []
        self.places: dict[str, Place] = {}
        self.notes: dict[str, str] = {}
        self.answer = "Done"
        self.away = False
        self.dies: BaseException | None = None
        self.slow: dict[Place, asyncio.Event] = {}
        self._changed = asyncio.Event()

    async def last(self, source: str) -> int | None:
        self._store()
        return max(self.kept, default=None)

    async def keep(self, source: str, updates: Sequence[tuple[int, str]]) -> Set[int]:
        self._store()
        new = dict(updates).keys() - self.kept.keys()
        for number, raw in updates:
            self.kept.setdefault(number, raw)
        self._pulse()
        return new

    async def unhandled(self, source: str) -> list[tuple[int, str]]:
        self._store()
        return [(number, raw) for number, raw in sorted(self.kept.items()) if number not in self.finished]

    async def overtakes(self, heard: Heard) -> Overtakes:
        self._store()
        return overtaken_by(heard.text, operator=heard.person.operator) if heard.text[:1] == "/" else Overtakes.NOTHING

    async def hear(self, heard: Heard) -> None:
        self._store()
        if self.dies is not None:
            error, self.dies = self.dies, None
            raise error
        if heard.place in self.slow:
            self.held_up.append(heard)
            self._pulse()
            await self.slow[heard.place].wait()
        if heard.key not in [known.key for known in self.heard]:
            self.heard.append(heard)
        self._pulse()

    async def outrank(self, heard: Heard) -> None:
        self._store()
        if heard not in self.outranked:
            self.outranked.append(heard)

    def names(self, place: Place) -> Sequence[Place]:
        return next((names for names in self.moved if place in names), [place])

    async def bound(self, place: Place) -> bool:
        return place not in self.unbound

    async def known(self, place: Place) -> bool:
        self._store()
        return place in self.bound_to

    async def edit(self, heard: Heard) -> None:
        self._store()
        if heard not in self.edited:
            self.edited.append(heard)
        self._pulse()

    async def press(self, pressed: Pressed) -> str:
        self._store()
        self.pressed.append(pressed)
        self._pulse()
        if pressed.place in self.slow:
            await self.slow[pressed.place].wait()
        return self.answer

    async def happened(self, happening: Happening) -> None:
        self._store()
        self.happenings.append(happening)
        self._pulse()

    async def done(self, source: str, number: int, error: str | None = None) -> None:
        self._store()
        self.finished[number] = error
        self._pulse()

    async def recall(self, source: str) -> Mapping[str, str]:
        self._store()
        return dict(self.notes)

    async def remember(self, source: str, key: str, text: str) -> None:
        self._store()
        self.notes[key] = text

    async def sent(self, scheme: str, receipt: str) -> Place | None:
        return self.places.get(receipt)

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(5):
            while not holds():
                await self._changed.wait()

    async def hears(self, *texts: str) -> None:
        await self.until(lambda: [heard.text for heard in self.heard] == list(texts))

    def _store(self) -> None:
        if self.away:
            self._pulse()
            raise Refused(Code.UNAVAILABLE, "the disk is full")

    def _pulse(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()


ROOMY = Rates(chat=Rate(1000, 1), group=Rate(1000, 1), bot=Rate(1000, 1))
"""Limits that no test reaches that is not about them."""


PUBLIC = "https://bridge.example"


def public(api: BotApi) -> None:
    """From now on updates are pushed, by way of a port that is free by now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        api.webhook.fronts[PUBLIC] = f"http://127.0.0.1:{free.getsockname()[1]}"


def webhook_of(api: BotApi) -> Webhook | None:
    local = api.webhook.fronts.get(PUBLIC)
    return Webhook(f"{PUBLIC}/hook", "127.0.0.1", int(local.rpartition(":")[2]), "s3cret") if local else None


async def connected(api: BotApi) -> None:
    await api.until(lambda: api.updates.polling or bool(api.webhook.url))


def chat_for(
    api: BotApi,
    clock: Clock,
    *,
    rates: Rates = ROOMY,
    patience: Patience = PATIENT,
    chats: frozenset[int] = frozenset({FORUM}),
    token: str | None = None,
    claim: Claim = nullcontext,
    files: Files | None = None,
    moves: Sequence[Move] = (),
) -> TelegramChat:
    """Where the API has something that stands in for the public address of the bridge, updates are pushed."""
    config = TelegramConfig(
        token=token or api.token,
        base_url=api.base_url,
        operators=frozenset({OPERATOR}),
        users=frozenset({USER}),
        chats=chats,
        webhook=webhook_of(api),
    )
    return TelegramChat(config, clock, Halfway(), claim=claim, rates=rates, patience=patience, files=files, moves=moves)


@asynccontextmanager
async def running(chat: TelegramChat, intake: RememberingIntake) -> AsyncIterator[TelegramChat]:
    """Runs the chat while the context is open, and cuts it off at its end, wherever it is."""
    task = asyncio.create_task(chat.run(intake, MENU))
    try:
        yield chat
    finally:
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.result()


def post(
    text: str = "Hello",
    *,
    place: Place = DESK_PLACE,
    kind: PostKind = PostKind.FINAL,
    buttons: tuple[Button, ...] = (),
    receipt: str | None = None,
    attempts: int = 0,
    markup: str | None = None,
    file: str | None = None,
    reply_to: str | None = None,
    key: str = "k1",
) -> Post:
    return Post(
        id=PostId("p1"),
        key=key,
        place=place,
        kind=kind,
        text=text,
        created_at=0,
        due_at=0,
        buttons=buttons,
        receipt=receipt,
        attempts=attempts,
        markup=markup,
        file=file,
        reply_to=reply_to,
    )
