"""A worker, the bridges that own it one after the other, and everything that can go wrong between them."""

import asyncio
import shutil
import tempfile
from collections.abc import Coroutine
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from adapters.acp.orders import Orders
from adapters.acp.spec import Times
from adapters.worker.codec import as_json
from adapters.worker.link import Frame
from adapters.worker.nursery import Nursery
from adapters.worker.runtime import Terms, WorkerRuntime
from bridge.ids import TurnId
from bridge.ports.runtime import Compressed, Event, Execution, Result, Text, ToolBegun
from bridge.question import Answer, Asked, Question
from tests.adapters.worker.stage import AGENT, LAUNCH, SCOPE, Peer, Stage

_T = TypeVar("_T")
SPOILT_SCOPES = (
    replace(SCOPE, session="default/other"),
    replace(SCOPE, agent="other"),
    replace(SCOPE, cwd="/elsewhere"),
    replace(SCOPE, alias="another-context"),
    replace(SCOPE, alias=None),
)


@dataclass
class Stored:
    """What bridges have stored of a turn, and what truly happened in it."""

    epoch: int = 1
    heard: int = 0
    alias: str = "context-1"
    effects: list[Event] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    forgotten: bool = False
    truth: list[Event] = field(default_factory=list)
    result: Result | None = None
    digests: dict[int, str] = field(default_factory=dict)

    def apply(self, event: Event, number: int) -> None:
        """Text is shown, and stored by nobody."""
        if number > self.heard and not isinstance(event, Text):
            self.heard = number
            self.effects.append(event)
            if isinstance(event, Compressed):
                self.alias = event.alias


class Machine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.path = Path(tempfile.mkdtemp())
        self.turns: dict[str, Stored] = {}
        self.turn = ""
        self.names = 0
        self.prompted: list[TurnId] = []
        self.asked = 0
        self.question = 0

    def run(self, doing: Coroutine[Any, Any, _T]) -> _T:
        return self.loop.run_until_complete(doing)

    @initialize()
    def opens(self) -> None:
        self.names += 1
        self.stage = Stage(self.path / "workers", name=f"worker-{self.names}")
        self.stage.actor.alias = self.turns[self.turn].alias if self.turn else "context-1"
        self.alias = self.stage.actor.alias
        self.stage.folder.make()
        self.owner: Peer | None = self.run(self.stage.opens())
        self.taken = 0
        self.last = 0
        self.turn = ""
        self.ended = False
        self.asking = False
        self.first: list[str] = []

    def teardown(self) -> None:
        self.run(self._torn_down())
        self.loop.close()
        shutil.rmtree(self.path)

    async def _torn_down(self) -> None:
        rest = asyncio.all_tasks() - {asyncio.current_task()}
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)

    @property
    def stored(self) -> Stored:
        return self.turns[self.turn]

    def working(self) -> bool:
        return bool(self.turn) and not self.ended

    # The agent
    @precondition(lambda self: self.working() and not self.asking)
    @rule(kinds=st.lists(st.sampled_from(["text", "tool", "compressed"]), min_size=1, max_size=4))
    def tells(self, kinds: list[str]) -> None:
        for kind in kinds:
            count = len(self.stored.truth)
            event: Event = Text(f"text {count}")
            if kind == "tool":
                event = ToolBegun(f"call-{count}", "edit", reading=False)
            elif kind == "compressed":
                event = Compressed(f"context-{count + 2}-{self.turn}")
                self.stage.actor.alias = event.alias
            self.stored.truth.append(event)
            self.run(self.stage.does(event))

    @precondition(lambda self: self.working() and not self.asking)
    @rule()
    def asks(self) -> None:
        self.asked += 1
        self.asking = True
        self.run(self.stage.does(Question("may I?", number=self.asked)))

    @precondition(lambda self: self.working() and not self.asking)
    @rule()
    def is_done(self) -> None:
        self.ended = True
        self.stored.result = Result(f"the end of {self.turn}", "end_turn")
        self.run(self.stage.does(self.stored.result))

    # The bridge
    @precondition(lambda self: self.owner is not None and not self.turn)
    @rule()
    def prompts(self) -> None:
        assert self.owner
        self.turn = f"turn-{len(self.turns) + 1}"
        self.turns[self.turn] = Stored(alias=self.alias)
        self.last = 0
        self.ended = self.asking = False
        self.prompted.append(TurnId(self.turn))
        self.run(self.owner.prompts(self.turn))

    @precondition(lambda self: self.owner is not None and bool(self.turn))
    @rule(epoch=st.integers(0, 3))
    def sends_the_same_prompt_again(self, epoch: int) -> None:
        """It hears again what it has not confirmed."""
        assert self.owner
        self.reads()
        self.run(self.owner.prompts(self.turn, epoch))
        for frame in self.news():
            self.hears(frame, again=True)

    @precondition(lambda self: self.owner is not None and bool(self.turn))
    @rule()
    def prompts_for_another_turn(self) -> None:
        assert self.owner
        self.reads()
        self.run(self.owner.prompts("turn-x"))
        assert [sorted(frame) for frame in self.news()] == [["refused"]]

    @precondition(lambda self: self.owner is not None and any(one.forgotten for one in self.turns.values()))
    @rule(data=st.data())
    def prompts_for_an_earlier_turn(self, data: st.DataObject) -> None:
        assert self.owner
        over = [turn for turn in self.prompted if self.turns[turn].forgotten and turn in self.stage.actor.prompted]
        if over:
            self.reads()
            self.run(self.owner.prompts(data.draw(st.sampled_from(over))))
            assert [sorted(frame) for frame in self.news()] == [["refused"]]

    @precondition(lambda self: self.owner is not None)
    @rule(confirms=st.booleans())
    def stores(self, confirms: bool) -> None:
        """And its receipt for that may get lost."""
        self.reads()
        if self.turn and confirms:
            assert self.owner
            self.run(self.owner.send(do="received", turn=self.turn, number=self.stored.heard))

    @precondition(lambda self: self.owner is not None and bool(self.turn) and bool(self.stored.results))
    @rule()
    def forgets(self) -> None:
        assert self.owner
        self.reads()
        self.run(self.owner.send(do="received", turn=self.turn, number=self.last))
        assert self.stage.folder.journals() == []
        self.stored.forgotten = True
        self.alias = self.stage.actor.alias
        self.turn = ""

    @precondition(lambda self: self.owner is not None and self.working() and not self.asking)
    @rule()
    def comes_to_its_end(self) -> None:
        self.is_done()
        self.forgets()

    @precondition(lambda self: self.owner is not None and bool(self.turn))
    @rule(turn=st.sampled_from(["", "turn-x"]), wrong=st.booleans(), choice=st.sampled_from("ab"))
    def answers(self, turn: str, wrong: bool, choice: str) -> None:
        """Perhaps for another time, another turn's question, or what is no question."""
        assert self.owner
        self.reads()
        number = 999 if wrong else self.question
        answer = as_json(Answer(Asked.ANSWERED, choice=choice))
        self.run(self.owner.send(do="answer", turn=turn or self.turn, question=number, answer=answer))
        if self.asking and not turn and not wrong:
            self.asking = False
            self.first.append(choice)

    @precondition(lambda self: self.owner is not None)
    @rule(stored=st.integers(0, 3))
    def dies(self, stored: int) -> None:
        """Before it has stored what it was told, or after some of that."""
        assert self.owner
        for frame in self.news()[:stored]:
            self.hears(frame)
        self.run(self.owner.leaves())
        self.owner = None
        if not self.turn:
            self.run(asyncio.wait_for(self.stage.serving, 10))
            self.stage.folder.forget(self.stage.name)
            self.opens()

    @precondition(lambda self: bool(self.turn))
    @rule(rise=st.sampled_from([-1, 0, 1, 1, 2]), spoilt=st.sampled_from([None, None, None, *SPOILT_SCOPES]))
    def another_comes(self, rise: int, spoilt: Any) -> None:
        """The one before it may be there still."""
        stored = self.stored
        epoch = stored.epoch + rise
        visitor = self.run(self.stage.visited())
        scope = spoilt or replace(SCOPE, alias=stored.alias)
        answer = self.run(visitor.claims(self.turn, epoch, stored.heard, scope))
        assert answer
        if spoilt is None and rise > 0:
            assert "adopted" in answer
            if self.owner is not None:
                assert self.owner.gone
                assert self.owner.frames[-1] == {"superseded": epoch}
            self.owner, stored.epoch, self.last = visitor, epoch, stored.heard
            self.taken = 2
            self.reads()
        else:
            assert "refused" in answer
            assert visitor.gone
            assert self.owner is None or not self.owner.gone

    @precondition(lambda self: bool(self.turn))
    @rule(stale=st.booleans())
    def somebody_comes_for_another_turn(self, stale: bool) -> None:
        visitor = self.run(self.stage.visited())
        answer = self.run(visitor.claims("turn-x", 99) if stale else visitor.send(adopt={"execution": 7}))
        assert answer is None or "refused" in answer
        assert visitor.gone

    # The worker
    @precondition(lambda self: bool(self.turn) and len(self.stored.truth) > 2)
    @rule(
        damage=st.sampled_from(["none", "none", "cut", "flip", "repeat", "other", "gone"]),
        at=st.floats(0, 1, exclude_max=True),
        rise=st.sampled_from([0, 1, 1, 1]),
        orderly=st.booleans(),
        stored=st.integers(0, 3),
    )
    def ends(self, damage: str, at: float, rise: int, orderly: bool, stored: int) -> None:
        """It crashes, or the grace is over; then its journal suffers. What is left of it is told once."""
        for frame in self.news()[:stored]:
            self.hears(frame)
        self.run(self.stage.ends() if orderly else self.stage.crashes())
        journal = self.stage.folder.journal(self.turn)
        written = journal.read_bytes()
        _spoil(journal, damage, at)
        found = self.run(self._replayed(self.stored.epoch + rise))
        whole = damage in ("none", "repeat", "other") or (journal.exists() and journal.read_bytes() == written)
        if rise == 0:
            assert not found
        elif whole:
            assert found
            assert self.stored.effects == _kept(self.stored.truth)
            assert self.ended == bool(self.stored.results)
        assert not found or not self.run(self._replayed(self.stored.epoch + rise + 1))
        self.run(self._bridge().tidy())
        assert self.stage.folder.journals() == []
        self.opens()

    def _bridge(self) -> WorkerRuntime:
        orders = Orders({}, tool_server=(), base={}, times=Times())
        return WorkerRuntime(orders, Nursery((), {}), self.path / "workers", self.path / "log", Terms(), str)

    async def _replayed(self, epoch: int) -> bool:
        """As a bridge does that finds the turn, and no worker."""
        stored = self.stored
        launch = replace(LAUNCH, alias=stored.alias)
        agent = await self._bridge().adopt(launch, AGENT, Execution(TurnId(self.turn), epoch), stored.heard)
        if agent is None:
            return False
        assert not agent.alive
        result = await agent.rejoin(_Listener(stored), stored.heard)
        if result is not None and not stored.results:
            stored.results.append(result)
        await agent.forget()
        return True

    # What the bridge reads
    def news(self) -> list[Frame]:
        if self.owner is None:
            return []
        frames, self.taken = self.owner.frames[self.taken :], len(self.owner.frames)
        return frames

    def reads(self) -> None:
        for frame in self.news():
            self.hears(frame)

    def hears(self, frame: Frame, again: bool = False) -> None:
        """Numbers follow each other; what comes again is what it was, under the same receipt."""
        if "tell" not in frame:
            return
        number, body = frame["tell"], frame["body"]
        assert frame["turn"] == self.turn
        assert number == self.last + 1 or (again and number <= self.last)
        self.last = max(self.last, number)
        assert self.stored.digests.setdefault(number, frame["digest"]) == frame["digest"]
        match frame["kind"]:
            case "result":
                if not self.stored.results:
                    self.stored.results.append(Result(body["result"]["final"], body["result"]["stop_reason"]))
            case "question":
                assert ("over" in frame) != (self.asking and body["number"] == self.asked)
                self.question = number
            case "text":
                self.stored.apply(Text(body["text"]), number)
            case "tool":
                self.stored.apply(ToolBegun(body["id"], body["name"], body["reading"]), number)
            case "compressed":
                self.stored.apply(Compressed(body["alias"]), number)

    @invariant()
    def nothing_happens_twice(self) -> None:
        for turn, stored in self.turns.items():
            kept = _kept(stored.truth)
            assert stored.effects == kept[: len(stored.effects)], turn
            assert len(stored.results) <= 1
            assert not stored.results or stored.results == [stored.result]

    @invariant()
    def each_turn_is_prompted_once(self) -> None:
        actor = self.stage.actor
        assert len(set(actor.prompted)) == len(actor.prompted)
        assert set(actor.prompted) <= set(self.prompted)

    @invariant()
    def the_first_answer_counts(self) -> None:
        assert [answer.choice for answer in self.stage.actor.answers] == self.first


class _Listener:
    def __init__(self, stored: Stored) -> None:
        self._stored = stored

    async def happened(self, event: Event, number: int = 0) -> None:
        self._stored.apply(event, number)

    async def asked(self, question: Question) -> Answer:
        raise AssertionError("whoever asked is gone")


def _kept(events: list[Event]) -> list[Event]:
    return [event for event in events if not isinstance(event, Text)]


def _spoil(path: Path, damage: str, at: float) -> None:
    data = path.read_bytes()
    lines = data.splitlines(keepends=True)
    match damage:
        case "cut":
            path.write_bytes(data[: int(at * len(data))])
        case "flip":
            spoilt = bytearray(data)
            spoilt[int(at * len(data))] ^= 1 << int(at * 64) % 8
            path.write_bytes(bytes(spoilt))
        case "repeat":
            path.write_bytes(data + lines[int(at * len(lines))])
        case "other":
            path.write_bytes(data + lines[0].replace(b"turn-", b"turn-9"))
        case "gone":
            path.unlink()


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=60, stateful_step_count=40)
