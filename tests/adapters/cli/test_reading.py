"""Without --json a person reads the same facts in words, a line each."""

from typing import Any

import pytest

from adapters.cli import reading
from bridge.message import State
from bridge.trace import StepKind
from bridge.views import FileState
from tests.adapters.api.memory_exchange import SHELL, MemoryExchange
from tests.adapters.cli.shell import Shell

STATUS: dict[str, Any] = {
    "pid": 7, "version": "1.0", "profile": "default", "uptime_s": 90.5, "store": "sqlite", "telegram": None,
    "sessions": 3, "turns": 1, "queued": 0, "oldest_queued_s": None, "file": "holds", "nodes": [],
}  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "told"), [(0, "0 s"), (59.4, "59 s"), (60, "1 min"), (7_199, "1 h"), (180_000, "2 d")]
)
def test_a_time_has_one_unit(seconds: float, told: str) -> None:
    assert reading.lasted(seconds) == told


def test_a_status_says_that_nothing_waits_and_what_does() -> None:
    assert dict(reading.status(STATUS))["queued"] == "0"
    assert reading.status({**STATUS, "paused_by": "telegram:111"})[0][1].startswith("paused by telegram:111")
    assert dict(reading.status({**STATUS, "queued": 2, "oldest_queued_s": 75.0}))["queued"] == "2, the oldest for 1 min"


@pytest.mark.parametrize("state", FileState)
def test_a_status_says_where_not_all_of_the_file_holds(state: FileState) -> None:
    told = dict(reading.status({**STATUS, "file": state.value}))
    assert ("file" in told) is (state is not FileState.HOLDS)


@pytest.mark.parametrize(
    ("health", "told"),
    [
        (None, "not configured"),
        ({"ok": True, "last_poll_age_s": 2.7, "error": None}, "ok, last heard 3 s ago"),
        ({"ok": False, "last_poll_age_s": None, "error": "the token is refused"}, "not ok: the token is refused"),
    ],
)
def test_a_status_says_how_it_stands_with_telegram(health: dict[str, Any] | None, told: str) -> None:
    assert dict(reading.status({**STATUS, "telegram": health}))["telegram"] == told


@pytest.mark.parametrize("state", State)
def test_where_a_message_is_has_words_for_every_state(state: State) -> None:
    assert reading.where({"state": state.value, "position": 0})


def test_what_waits_says_what_holds_it_up() -> None:
    view = {"state": "queued", "position": 2, "reason": "the agent crashed"}
    assert reading.where(view) == "queued, position 2 (the agent crashed)"
    assert reading.where({**view, "state": "leased", "position": 0}) == "at work"


async def test_an_inbox_tells_who_wrote_and_what_to_do_next(shell: Shell, exchange: MemoryExchange) -> None:
    await exchange.arrive(SHELL, "mail")
    seen = await shell.run("inbox")
    assert seen.out == "in1  request from default/desk  2026-09-21T14:13:20.500Z\n    mail\n"
    assert seen.err == ""
    taken = await shell.run("inbox", "--take")
    assert taken.out.startswith("in1  request from default/desk, taken  ")
    assert "tieline ack" in taken.err


async def test_a_trace_of_one_message_leaves_out_what_only_programs_use(shell: Shell, exchange: MemoryExchange) -> None:
    exchange.step(StepKind.DECISION, effect="allow", rule="rules[0]", reason="rules[0] allows it", verbs=["ask"])
    exchange.step(StepKind.ACCEPTED, to="default/career", wake=True, depth=1)
    exchange.step(StepKind.SENT, place="cli:career", receipt="7", edited=False)
    date, first, second, third = (await shell.run("trace", "m1")).out.splitlines()
    assert date == "since 2026-09-21T14:13:20.500Z"
    assert first.split("  ")[-1] == "allow · rules[0] allows it"
    assert second.split("  ")[-1] == "to default/career · wake · depth 1"
    assert third.split("  ")[-1] == "cli:career"
    assert (first[:10], second[:10]) == ("+0.000 s  ", "+1.000 s  ")


def test_a_trace_of_several_messages_numbers_them_and_tells_their_ids_once() -> None:
    def step(at: int, kind: str, message: str, **detail: object) -> dict[str, Any]:
        detail = {"message_id": message, **detail}
        return {"at": f"2026-01-01T00:00:0{at}.000Z", "step": kind, "session": "default/career", "detail": detail}

    rows = list(reading.trace([step(0, "accepted", "one"), step(1, "accepted", "two"), step(2, "settled", "one")]))
    assert [row[0] for row in rows] == ["+0.000 s", "+1.000 s", "+2.000 s"]
    assert [row[1] for row in rows] == ["#1", "#2", "#1"]
    assert ["one" in rows[0][-1], "two" in rows[1][-1], "one" in rows[2][-1]] == [True, True, False]
