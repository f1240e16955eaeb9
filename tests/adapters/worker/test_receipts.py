"""Each receipt lost once, in each state; and a disk that takes no more, at each record of a turn (DESIGN §8)."""

import errno
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from adapters.worker import execution
from adapters.worker.codec import as_json
from adapters.worker.execution import ADOPTED, ANSWERED, QUESTION, RESULT
from adapters.worker.journal import BEGUN, Journal, Record, read
from adapters.worker.link import Frame
from bridge.ports.runtime import Compressed, Event, Result, Text, ToolBegun, ToolEnded
from bridge.question import Answer, Asked, Question
from bridge.turn import FailureKind
from tests.adapters.worker.stage import SCOPE, Peer, Stage

TURN = "turn-1"
BEGINS = ToolBegun("1", "edit", reading=False)
ENDS = ToolEnded("1", ok=True)
MOVES = Compressed("context-2")
DONE = Result("done", "end_turn")
ASKS = Question("may I?", number=1)
YES = as_json(Answer(Asked.ANSWERED, choice="yes"))

STATES: dict[str, Sequence[Event | Question | Result]] = {
    "nothing told": [],
    "text told": [Text("a")],
    "in a tool": [Text("a"), BEGINS],
    "after a tool": [BEGINS, ENDS],
    "compressed": [BEGINS, MOVES],
    "asking": [BEGINS, ASKS],
    "ended": [BEGINS, ENDS, DONE],
}


def receipts(frames: Sequence[Frame]) -> list[tuple[int, str, str]]:
    return [(frame["tell"], frame["kind"], frame["digest"]) for frame in frames if "tell" in frame]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("how", ["the same prompt", "another bridge"])
async def test_whoever_lost_its_receipts_gets_the_same_again(tmp_path: Path, state: str, how: str) -> None:
    """From each record on: the last receipt to arrive was that before it."""
    count = len(STATES[state])
    for kept in range(count + 1):
        stage = Stage(tmp_path / f"{kept}")
        owner = await stage.opens()
        await owner.prompts(TURN)
        await stage.does(*STATES[state])
        first = receipts(owner.frames)
        assert [number for number, _, _ in first] == list(range(1, count + 1))
        await owner.send(do="received", turn=TURN, number=kept)
        moved = any(isinstance(one, Compressed) for one in STATES[state][:kept])
        if state == "ended" and kept == count:
            assert stage.folder.journals() == []
        elif how == "the same prompt":
            before = len(owner.frames)
            await owner.prompts(TURN)
            assert receipts(owner.frames[before:]) == first[kept:]
        else:
            another = await stage.visited()
            scope = replace(SCOPE, alias="context-2") if moved else SCOPE
            assert "adopted" in (await another.claims(TURN, 2, kept, scope) or {})
            *again, adopted = receipts(another.frames)
            assert again == first[kept:]
            assert adopted[:2] == (count + 1, ADOPTED)
        assert len(stage.actor.prompted) == 1
        await stage.crashes()


async def test_a_question_is_asked_again_while_it_is_open(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    owner = await stage.opens()
    await owner.prompts(TURN)
    await stage.does(ASKS)
    second = await stage.visited()
    await second.claims(TURN, 2)
    (asked,) = [frame for frame in second.frames if frame.get("kind") == QUESTION]
    assert "over" not in asked
    await owner.send(do="answer", turn=TURN, question=1, answer=as_json(Answer(Asked.ANSWERED, choice="no")))
    await second.send(do="answer", turn="turn-2", question=1, answer=YES)
    assert stage.actor.answers == []
    await second.send(do="answer", turn=TURN, question=1, answer=YES)
    await second.send(do="answer", turn=TURN, question=1, answer=as_json(Answer(Asked.TIMED_OUT)))
    assert [answer.choice for answer in stage.actor.answers] == ["yes"]
    third = await stage.visited()
    await third.claims(TURN, 3)
    told = [(frame["kind"], frame.get("over")) for frame in third.told()]
    assert told == [(QUESTION, True), (ADOPTED, None), (ANSWERED, None), (ADOPTED, None)]
    await stage.crashes()


async def test_what_comes_later_is_told_after_what_was_missed(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    owner = await stage.opens()
    await owner.prompts(TURN)
    await stage.does(BEGINS)
    await owner.leaves()
    await stage.does(ENDS, Text("a"))
    another = await stage.visited()
    await another.claims(TURN, 2, 1)
    await stage.does(DONE)
    assert [kind for _, kind, _ in receipts(another.frames)] == ["tool_ended", "text", ADOPTED, RESULT]
    await stage.crashes()


async def test_a_bridge_that_reads_nothing_more_is_overtaken(tmp_path: Path) -> None:
    """It has not gone, and what it should be told fills the way to it."""
    stage = Stage(tmp_path)
    owner = await stage.opens()
    await owner.prompts(TURN)
    owner.stands_still()
    await stage.does(*[Text("x" * 100_000) for _ in range(8)])
    another = await stage.visited()
    assert "adopted" in (await another.claims(TURN, 2) or {})
    await stage.does(DONE)
    kinds = [kind for _, kind, _ in receipts(another.frames)]
    assert sorted(kinds) == [ADOPTED, RESULT, *["text"] * 8]
    assert [number for number, _, _ in receipts(another.frames)] == list(range(1, 11))
    await stage.crashes()


async def test_a_bridge_that_reads_nothing_more_does_not_hold_up_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("adapters.worker.host.FLUSH_S", 0)
    stage = Stage(tmp_path)
    owner = await stage.opens()
    await owner.prompts(TURN)
    owner.stands_still()
    await stage.does(*[Text("x" * 100_000) for _ in range(8)])
    await stage.ends()
    assert stage.actor.closed == 1


async def test_a_close_that_fails_takes_nothing_back(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    stage.actor.unable = RuntimeError("it cannot be closed")
    owner = await stage.opens()
    await owner.prompts(TURN)
    await stage.does(BEGINS, DONE)
    told = owner.told()
    await owner.send(do="close")
    await stage.serving
    assert owner.told() == told
    assert owner.frames[-1] == {"closed": True}
    assert [record.kind for record in read(stage.folder.journal(TURN), TURN).records] == [BEGUN, "tool", RESULT]


async def test_an_end_in_the_middle_of_a_turn_is_no_result(tmp_path: Path) -> None:
    stage = Stage(tmp_path)
    owner = await stage.opens()
    await owner.prompts(TURN)
    await stage.does(BEGINS)
    await owner.send(do="close")
    await stage.serving
    assert [record.kind for record in read(stage.folder.journal(TURN), TURN).records] == [BEGUN, "tool"]


async def test_a_defect_ends_the_worker_and_its_agent(tmp_path: Path) -> None:
    class Defective(Journal):
        def add(self, kind: str, body: Mapping[str, Any], *, firmly: bool) -> Record:
            if kind == RESULT:
                raise RuntimeError("a defect")
            return super().add(kind, body, firmly=firmly)

    stage = Stage(tmp_path, journal=Defective)
    owner = await stage.opens()
    await owner.prompts(TURN)
    await stage.does(DONE)
    await stage.serving
    assert stage.actor.closed == 1


# A full disk
class Full(Journal):
    """Takes `room` records, and no other until it has more room."""

    room = 0

    def add(self, kind: str, body: Mapping[str, Any], *, firmly: bool) -> Record:
        if self.number + 1 >= self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().add(kind, body, firmly=firmly)


def full_after(records: int) -> type[Full]:
    return type("Full", (Full,), {"room": records})


async def played(stage: Stage) -> Peer:
    """A turn with all that there is. Its owner answers each question that it is asked."""
    owner = await stage.opens()
    await owner.prompts(TURN)
    await stage.does(Text("a"), BEGINS, ENDS, ASKS)
    for frame in owner.told():
        if frame["kind"] == QUESTION:
            await owner.send(do="answer", turn=TURN, question=frame["tell"], answer=YES)
    await stage.does(DONE)
    return owner


@pytest.mark.parametrize("room", range(8))
async def test_a_full_disk_refuses_a_turn_or_stops_it_and_says_so(tmp_path: Path, room: int) -> None:
    """A turn has seven records: its beginning, a text, a tool's two, a question's two, and its end."""
    stage = Stage(tmp_path, journal=full_after(room))
    owner = await played(stage)
    if room == 0:
        (refused,) = [frame for frame in owner.frames if "refused" in frame]
        assert refused["refused"]["kind"] == FailureKind.CAPACITY
        assert stage.actor.prompted == []
        assert stage.folder.journals() == []
    else:
        assert len(stage.actor.prompted) == 1
        *_, last = owner.told()
        assert last["kind"] == RESULT
        result = last["body"]["result"]
        if room >= 7:
            assert (result["final"], last["tell"]) == ("done", 6)
        elif room == 6:
            # All but its end is on record, and that is told.
            assert (result["final"], last["tell"]) == ("done", 0)
        else:
            assert result["failure"]["kind"] == FailureKind.CAPACITY
            assert stage.actor.cancelled
        kinds = [frame["kind"] for frame in owner.told()]
        assert kinds.count("tool") <= 1
        numbers = [frame["tell"] for frame in owner.told() if frame["tell"]]
        assert numbers == list(range(1, min(room, 7)))
    await stage.crashes()


@pytest.mark.parametrize("room", range(1, 7))
async def test_nobody_adopts_a_turn_of_which_something_is_not_on_record(tmp_path: Path, room: int) -> None:
    journal = full_after(room)
    stage = Stage(tmp_path, journal=journal)
    owner = await played(stage)
    journal.room = 99
    another = await stage.visited()
    answer = await another.claims(TURN, 2)
    assert answer == {"refused": "its journal is damaged"}
    assert not owner.gone
    await stage.crashes()


async def test_an_adoption_that_cannot_be_recorded_is_none(tmp_path: Path) -> None:
    journal = full_after(2)
    stage = Stage(tmp_path, journal=journal)
    owner = await stage.opens()
    await owner.prompts(TURN)
    await stage.does(BEGINS)
    another = await stage.visited()
    assert "takes no more" in (await another.claims(TURN, 2) or {})["refused"]
    journal.room = 99
    await stage.does(DONE)
    assert owner.told()[-1]["body"]["result"]["final"] == "done"
    await stage.crashes()


async def test_a_journal_ends_with_the_turn_even_where_it_was_full(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "MOST_BYTES", 2_000)
    stage = Stage(tmp_path)
    owner = await stage.opens()
    await owner.prompts(TURN)
    await stage.does(*[ToolBegun(f"{number}", "edit", reading=False) for number in range(20)])
    records = read(stage.folder.journal(TURN), TURN).records
    assert records[-1].kind == RESULT
    assert records[-1].body["result"]["failure"]["kind"] == FailureKind.CAPACITY
    assert len(records) < 20
    assert stage.actor.cancelled
    assert owner.told()[-1]["tell"] == records[-1].number
    await stage.crashes()


async def test_what_a_turn_says_beyond_what_is_kept_is_told_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(execution, "TEXT_CHARS", 10)
    stage = Stage(tmp_path)
    owner = await stage.opens()
    await owner.prompts(TURN)
    await stage.does(Text("12345678"), Text("123456789012345"), BEGINS, DONE)
    assert [(frame["tell"], frame["kind"]) for frame in owner.told()] == [
        (1, "text"),
        (0, "text"),
        (2, "tool"),
        (3, RESULT),
    ]
    assert owner.told()[1]["body"]["text"] == "1234567890"
    await stage.crashes()
