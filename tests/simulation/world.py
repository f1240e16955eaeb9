"""What outlives every node: the store, the rooms, the agents' processes, and what everybody remembers."""

import asyncio
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from bridge.errors import Refused
from bridge.ids import MessageId, SessionId, TurnId
from bridge.message import Message
from bridge.session import Session
from bridge.turn import Failure, FailureKind
from tests.simulation.archive import Archive
from tests.simulation.journal import Broken, Journal, brief
from tests.simulation.loop import VirtualLoop
from tests.simulation.scenario import Member, Misfortune, Scenario

if TYPE_CHECKING:
    from tests.simulation.agents import AgentProcess, Memory
    from tests.simulation.rooms import Rooms
    from tests.simulation.store import WatchedStore

_RETRYABLE = (FailureKind.RATE_LIMIT, FailureKind.CAPACITY, FailureKind.TIMEOUT, FailureKind.CRASH)

EPOCH = 1_800_000_000.0


class Disconnected(Exception):
    """The bridge went away during a call, or was not there: its caller does not know what came of it."""


class World:
    """Once it is `healing`, nothing fails any more, agents do what they are asked, and nobody begins anything."""

    store: "WatchedStore"
    rooms: "Rooms"

    def __init__(self, scenario: Scenario, loop: VirtualLoop) -> None:
        self.scenario = scenario
        self.loop = loop
        self.archive = Archive()
        self.journal = Journal(loop.time)
        self.members: dict[SessionId, Member] = {one.id: one for one in scenario.members}
        self.misfortunes = scenario.misfortunes
        self.healed_at = float("-inf")
        self.healing = False
        self.heals = asyncio.Event()
        self.token = asyncio.Lock()
        self.broken: Broken | None = None
        self._run: asyncio.Task[None] | None = None
        self.out_of_reach_until = 0.0
        # What agents and people remember, to be compared with what the store says
        self.processes: dict[int, AgentProcess] = {}
        self.memories: dict[str, Memory] = {}
        self.counted: Counter[str] = Counter()
        self.prompted: set[TurnId] = set()
        self.at_work: dict[SessionId, dict[int, None]] = defaultdict(dict)
        self.acted_on: set[MessageId] = set()
        self.seen: set[MessageId] = set()
        self.acting_for: dict[MessageId, MessageId | None] = {}
        self.meant: dict[str, MessageId | None] = {}
        """By the words of an agent, what it was working on when it said them."""
        self.accepted: dict[MessageId, SessionId] = {}
        self.stopped: set[SessionId] = set()
        self._approved: list[tuple[str, Message]] = []
        self._lifting: Counter[SessionId] = Counter()
        self._lifted_at: dict[SessionId, int] = {}

    @property
    def left(self) -> int:
        """How many messages may still be begun."""
        return self.scenario.messages - self.archive.count(Message)

    def heal(self) -> None:
        self.misfortunes, self.healing, self.out_of_reach_until = frozenset(), True, 0.0
        self.healed_at = self.loop.time()
        self.heals.set()

    def suffers(self, misfortune: Misfortune) -> bool:
        return misfortune in self.misfortunes

    def now(self) -> float:
        """The true time, in seconds since 1970; the clocks of the nodes are off by some of it."""
        return EPOCH + self.loop.time()

    def is_child(self, session: SessionId) -> bool:
        known = self.archive.get(Session, session)
        return known is not None and known.parent is not None

    def member(self, session: SessionId) -> Member | None:
        """Of a child, the one at the root of its line."""
        known = self.archive.get(Session, session)
        while known is not None and known.parent is not None:
            known = self.archive.get(Session, known.parent)
        return self.members.get(known.id) if known is not None else None

    def has_agent(self, session: SessionId) -> bool:
        known = self.archive.get(Session, session)
        return known is not None and known.agent is not None

    def note(self, what: str) -> None:
        self.journal.note(what)

    def broke(self, invariant: str, what: str, *about: str) -> None:
        """Keeps the first broken invariant; the run ends with it. Nobody has to raise it, for the core would treat
        it as a defect of its own."""
        if self.broken is None:
            self.broken = Broken(invariant, what, tuple(brief(one) for one in about))
            self.note(f"BROKEN {self.broken}")
            if self._run is not None:
                self._run.cancel()

    def ends_with(self, run: asyncio.Task[None]) -> None:
        """A run ends where something is broken: what comes after would tell of nothing else."""
        self._run = run

    @contextmanager
    def lifting(self, session: SessionId) -> Iterator[None]:
        """Somebody says meanwhile what lets a stopped session go on."""
        self._lifting[session] += 1
        self.stopped.discard(session)
        yield
        self._lifting[session] -= 1
        self._lifted_at[session] = self.archive.changes

    def has_stopped(self, session: SessionId, since: int) -> None:
        """A person has heard that the session stands; the stop was said after so many changes."""
        if self._lifting[session] or self._lifted_at.get(session, -1) >= since:
            return
        self.stopped.add(session)
        turn = self.archive.running(session)
        inputs = [self.archive.get(Message, one) for one in turn.inputs] if turn is not None else []
        if turn is not None and not all(one is not None and one.from_person for one in inputs):
            self.broke("10 stop", f"{session} was stopped, and its turn {turn.id} runs", session, turn.id)

    def approves(self, action: str) -> None:
        """An operator is about to press a button that may let held messages go."""
        verb, _, ident = action.partition(":")
        message = self.archive.get(Message, ident)
        if verb in ("ok", "okc", "okp") and message is not None:
            self._approved.append((verb, message))

    def approved(self, one: Message) -> bool:
        """Whether any press so far lets a message go."""
        for verb, message in self._approved:
            same_talk = verb == "okc" and message.conversation == one.conversation
            if (message.sender, message.recipient) == (one.sender, one.recipient) and (
                one.id <= message.id or same_talk or verb == "okp"
            ):
                return True
        return False

    def told_of(self, message: MessageId, sender: SessionId) -> None:
        """A sender has heard that its message was accepted."""
        self.accepted[message] = sender

    def refused(self, sender: SessionId, refused: Refused) -> None:
        self.note(f"{sender} is refused {refused.code}: {refused.reason}")

    def check_answer(self, request: MessageId, text: str, asker: SessionId) -> None:
        """Whoever waits for an answer is given that to its own question."""
        if f"for={request} " not in text:
            self.broke("8 answer", f"{asker} was given {text!r} for {request}", request)

    def failure(self, kind: FailureKind, resets_in_s: float) -> Failure:
        """As an agent tells of it: what is temporary is over at some time, by the true clock."""
        retryable = kind in _RETRYABLE
        return Failure(kind, f"simulated {kind}", retryable, self.now() + resets_in_s if retryable else None)
