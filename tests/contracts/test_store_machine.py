"""Random changes and reads, of every store against one simple model of what a store is."""

import asyncio
import tempfile
from abc import abstractmethod
from collections import Counter
from collections.abc import Coroutine, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from adapters.memory.store import MemoryStore
from adapters.sqlite.store import open_store
from bridge.errors import Conflict
from bridge.ids import Place, SessionId, TurnId, receiver
from bridge.message import DELIVERY, Intent, Message, Origin, Outcome, State
from bridge.ports.store import Change, Check, DayQuota, Entity, InboxRoom, Key, OpenRequests, Store
from bridge.post import Post, PostKind, PostState
from bridge.request import Answer, Request
from bridge.session import Binding
from bridge.turn import Turn, TurnState
from tests.contracts.entities import CAREER, DESK, FINANCE, binding, message, post, request, turn
from tests.databases import made

_T = TypeVar("_T", bound=Entity)
_R = TypeVar("_R")
SESSIONS = [DESK, CAREER]
NUMBERS = st.integers(1, 4)
TIMES = st.sampled_from([10.0, 20.0, 30.0])
READERS = [TurnId("t-1"), TurnId("t-2"), receiver(CAREER)]


@st.composite
def messages(draw: st.DrawFn) -> Message:
    state = draw(st.sampled_from(State))
    over = state is State.SETTLED
    return message(
        f"m-{draw(NUMBERS)}",
        recipient=draw(st.sampled_from(SESSIONS)),
        intent=draw(st.sampled_from(Intent)),
        origin=draw(st.sampled_from(Origin)),
        wake=draw(st.booleans()),
        state=state,
        outcome=draw(st.sampled_from(Outcome)) if over else None,
        settled_at=draw(TIMES) if over else None,
        turn=draw(st.sampled_from(READERS)) if state in (State.LEASED, State.PARKED, State.SETTLED) else None,
        read_at=draw(st.none() | TIMES),
        accepted_at=draw(TIMES),
        queued_at=draw(TIMES),
        due_at=draw(TIMES),
        expires_at=draw(TIMES),
    )


@st.composite
def requests(draw: st.DrawFn) -> Request:
    state = draw(st.sampled_from(Answer))
    return request(
        f"m-{draw(NUMBERS)}",
        asker=draw(st.sampled_from(SESSIONS)),
        asked=draw(st.sampled_from(SESSIONS)),
        state=state,
        closed_at=None if state is Answer.OPEN else draw(TIMES),
        parent=draw(st.sampled_from([None, message("m-1").id])),
        expires_at=draw(TIMES),
    )


@st.composite
def turns(draw: st.DrawFn) -> Turn:
    state = draw(st.sampled_from(TurnState))
    live = state in (TurnState.STARTING, TurnState.RUNNING)
    ended_at = None if live else draw(TIMES)
    return turn(f"t-{draw(NUMBERS)}", session=draw(st.sampled_from(SESSIONS)), state=state, ended_at=ended_at)


@st.composite
def posts(draw: st.DrawFn) -> Post:
    number = draw(NUMBERS)
    return post(
        f"p-{number}",
        key=f"k-{draw(st.sampled_from([number, 1]))}",
        kind=draw(st.sampled_from(PostKind)),
        state=draw(st.sampled_from(PostState)),
        receipt=draw(st.sampled_from([None, "r-1"])),
        created_at=draw(TIMES),
        due_at=draw(TIMES),
    )


@st.composite
def bindings(draw: st.DrawFn) -> Binding:
    session = draw(st.sampled_from([*SESSIONS, None]))
    return binding(Place(f"web:{draw(NUMBERS)}"), session=session, bound_at=draw(TIMES))


ENTITIES = st.one_of(messages(), requests(), turns(), posts(), bindings())
CHECKS = st.one_of(
    st.builds(InboxRoom, st.sampled_from(SESSIONS), st.integers(0, 3)),
    st.builds(OpenRequests, st.sampled_from(SESSIONS), st.integers(0, 3)),
    st.builds(DayQuota, st.just("default"), st.sampled_from([7, 8]), st.integers(0, 3)),
)
KEYS = st.builds(Key, st.sampled_from(SESSIONS), st.sampled_from("ab"), st.just("digest"), st.just(message("m-1").id))
STALENESS = st.sampled_from([0, 0, 0, 0, 0, 1, -1])
"""How far off the version is on which a put or a guard is planned: mostly not at all."""


def name(entity: Entity) -> tuple[str, str]:
    return type(entity).__name__, str(entity.place if isinstance(entity, Binding) else getattr(entity, "id", ""))


class Model:
    """A store as a reader of its port would think of it: one dictionary, and a question is a search."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], Entity] = {}
        self.keys: dict[tuple[str, str], Key] = {}
        self.sent: Counter[tuple[str, int]] = Counter()

    def version(self, entity: Entity) -> int:
        stored = self.rows.get(name(entity))
        return stored.version if stored is not None else 0

    def after(self, change: Change) -> "Model | None":
        """The model with the change, or None where it is a conflict."""
        if any(self.version(one) != one.version for one in change.unchanged):
            return None
        then = Model()
        places = {f"{place}" for place in change.unbound}
        then.rows = {key: row for key, row in self.rows.items() if key[0] != "Binding" or key[1] not in places}
        then.keys = dict(self.keys)
        then.sent = self.sent + Counter((one.profile, one.day) for one in change.checks if isinstance(one, DayQuota))
        for entity in change.puts:
            if then.version(entity) != entity.version:
                return None
        for entity in change.puts:
            then.rows[name(entity)] = replace(entity, version=entity.version + 1)
        for key in change.keys:
            if (key.sender, key.key) in then.keys:
                return None
            then.keys[key.sender, key.key] = key
        return then if then.sound(change.checks) else None

    def sound(self, checks: Iterable[Check]) -> bool:
        live = [one.session for one in self.all(Turn) if one.live]
        posted = [one.key for one in self.all(Post)]
        return (
            len(set(live)) == len(live)
            and len(set(posted)) == len(posted)
            and all(self.count(check) <= check.limit for check in checks)
        )

    def count(self, check: Check) -> int:
        if isinstance(check, OpenRequests):
            return sum(one.open and one.asker == check.asker for one in self.all(Request))
        if isinstance(check, InboxRoom):
            return sum(one.takes_room for one in self.unsettled() if one.recipient == check.session)
        return self.sent[check.profile, check.day]

    def all(self, kind: type[_T]) -> list[_T]:
        return [row for row in self.rows.values() if isinstance(row, kind)]

    def unsettled(self) -> list[Message]:
        return sorted(
            (one for one in self.all(Message) if one.state is not State.SETTLED),
            key=lambda one: (one.accepted_at, one.id),
        )

    def queued(self) -> list[Message]:
        return sorted(
            (one for one in self.all(Message) if one.state is State.QUEUED),
            key=lambda one: (not one.from_person, one.queued_at, one.id),
        )

    def read_in(self, reader: TurnId) -> list[Message]:
        over = (State.LEASED, State.SETTLED)
        read = [one for one in self.all(Message) if one.turn == reader and one.read_at is not None]
        return sorted((one for one in read if one.state in over), key=lambda one: (one.read_at, one.id))

    def readers(self, session: SessionId, since: float) -> list[TurnId]:
        turns = [one for one in self.all(Turn) if one.session == session]
        old = max((one.id for one in turns if one.ended_at is not None and one.ended_at < since), default="")
        return [receiver(session), *(one.id for one in turns if one.id > old)]


class StoreMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.model = Model()

    @abstractmethod
    async def opened(self) -> Store:
        raise NotImplementedError

    def wait(self, work: Coroutine[Any, Any, _R]) -> _R:
        return self.runner.run(work)

    @initialize()
    def open(self) -> None:
        self.store = self.wait(self.opened())

    def teardown(self) -> None:
        self.wait(self.store.close())
        self.runner.close()

    @rule(
        puts=st.lists(st.tuples(ENTITIES, STALENESS), max_size=4, unique_by=lambda one: name(one[0])),
        guards=st.lists(st.tuples(ENTITIES, STALENESS), max_size=1),
        keys=st.lists(KEYS, max_size=1),
        checks=st.lists(CHECKS, max_size=1),
        unbound=st.lists(st.sampled_from([Place("web:1"), Place("web:2")]), max_size=1),
    )
    def commit(
        self,
        puts: list[tuple[Entity, int]],
        guards: list[tuple[Entity, int]],
        keys: list[Key],
        checks: list[Check],
        unbound: list[Place],
    ) -> None:
        named = {name(one) for one, _ in (*puts, *guards)}
        unbound = [place for place in unbound if ("Binding", place) not in named]
        change = Change(
            puts=[self.planned(*one) for one in puts],
            unchanged=[self.planned(*one) for one in guards],
            keys=keys,
            checks=checks,
            unbound=unbound,
        )
        then = self.model.after(change)
        try:
            self.wait(self.store.commit(change))
        except Conflict:
            assert then is None
        else:
            assert then is not None
            self.model = then

    def planned(self, entity: Entity, stale: int) -> Entity:
        stored = self.model.rows.get(name(entity))
        if isinstance(entity, Message) and isinstance(stored, Message):
            entity = replace(stored, **{name: getattr(entity, name) for name in DELIVERY})
        return replace(entity, version=max(0, self.model.version(entity) + stale))

    @invariant()
    def every_read_is_what_the_model_says(self) -> None:
        self.wait(self.compare())

    async def compare(self) -> None:
        model, store = self.model, self.store
        for number in range(1, 5):
            ident = message(f"m-{number}").id
            assert await store.message(ident) == model.rows.get(("Message", ident))
            assert await store.request(ident) == model.rows.get(("Request", ident))
            assert await store.turn(TurnId(f"t-{number}")) == model.rows.get(("Turn", f"t-{number}"))
            place = Place(f"web:{number}")
            assert await store.binding(place) == model.rows.get(("Binding", place))
        for session in SESSIONS:
            of = [one for one in model.unsettled() if one.recipient == session]
            assert await store.unsettled_of(session) == of
            assert await store.inbox(session) == [one for one in of if one.intent is not Intent.INPUT]
            assert await store.queue(session) == [one for one in model.queued() if one.recipient == session]
            assert await store.inbox_size(session) == model.count(InboxRoom(session, 0))
            live = [one for one in model.all(Turn) if one.session == session and one.live]
            assert await store.live_turn(session) == (live[0] if live else None)
            asked = [one for one in model.all(Request) if one.open and one.asker == session]
            assert await store.open_requests_of(session) == sorted(asked, key=lambda one: one.id)
            bound = [one for one in model.all(Binding) if one.session == session]
            assert await store.places(session) == sorted(bound, key=lambda one: (one.bound_at, one.place))
            read = [one for reader in model.readers(session, 20.0) for one in model.read_in(reader)]
            late = [one for one in read if one.settled_at is None or one.settled_at >= 20]
            assert await store.read_by(session, 20.0) == sorted(late, key=lambda one: (one.read_at, one.id))
            for key in "ab":
                assert await store.key(session, key) == model.keys.get((session, key))
        for day in (7, 8):
            assert await store.sent_on("default", day) == model.sent["default", day]
        await self.compare_across_sessions()

    async def compare_across_sessions(self) -> None:
        model, store = self.model, self.store
        queued = model.queued()
        waking = [one for one in queued if one.wake]
        assert await store.waiting_sessions() == sorted({one.recipient for one in waking})
        assert await store.due_sessions(20.0) == sorted({one.recipient for one in waking if one.due_at <= 20})
        mail = [one for one in model.unsettled() if one.intent is not Intent.INPUT and one.state is not State.HELD]
        assert await store.unsettled() == Counter(one.recipient for one in mail)
        assert await store.queued() == (len(queued), min((one.queued_at for one in queued), default=None))
        for reader in READERS:
            leased = [one for one in model.unsettled() if one.turn == reader and one.state is State.LEASED]
            assert await store.taken(reader) == sorted(leased, key=lambda one: (one.queued_at, one.id))
            assert await store.read_in(reader) == model.read_in(reader)
        mortal = (State.HELD, State.QUEUED, State.PARKED)
        ended = [one for one in model.unsettled() if one.state in mortal and one.expires_at <= 20]
        assert await store.ended_lives(20.0, 9) == sorted(ended, key=lambda one: (one.expires_at, one.id))
        children = [one for one in model.all(Request) if one.parent == "m-1"]
        assert await store.requests_for(message("m-1").id) == sorted(children, key=lambda one: one.id)
        pending = [one for one in model.all(Post) if one.state is PostState.PENDING]
        assert await store.pending_posts("web") == sorted(
            pending, key=lambda one: (one.kind is not PostKind.FINAL, one.created_at, one.id)
        )
        foremost = await store.foremost_posts("web")
        assert [one for one in await store.pending_posts("web") if one in foremost] == foremost
        assert {(one.place, one.urgency) for one in foremost} == {(one.place, one.urgency) for one in pending}
        assert await store.live_turns() == sorted((one for one in model.all(Turn) if one.live), key=lambda one: one.id)
        assert await store.message(message("m-9", recipient=FINANCE).id) is None


class MemoryMachine(StoreMachine):
    async def opened(self) -> Store:
        return MemoryStore()


class SqliteMachine(StoreMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()

    async def opened(self) -> Store:
        return await open_store(made(Path(self.folder.name) / "tieline.db"))

    def teardown(self) -> None:
        super().teardown()
        self.folder.cleanup()


TestMemory = MemoryMachine.TestCase
TestSqlite = SqliteMachine.TestCase
if settings.get_current_profile_name() != "deep":
    TestMemory.settings = settings(max_examples=40, stateful_step_count=20)
    TestSqlite.settings = settings(max_examples=10, stateful_step_count=20)
