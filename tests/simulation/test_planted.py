"""Faults that are planted on purpose: a simulation that does not find them would find no others."""

from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any

import pytest

from bridge.flow import dispatch, exchange, settlement, turn_end
from bridge.flow.exchange import Exchange
from bridge.flow.ledger import Ledger
from bridge.flow.listener import TurnListener
from bridge.flow.outbox import Outbox
from bridge.flow.turns import Run, Turns
from bridge.flow.unheard import Unheard
from bridge.flow.work import Work
from bridge.ids import SessionId, TurnId
from bridge.message import Message
from bridge.ports.chat import Chat
from bridge.ports.runtime import Agent, Result
from bridge.post import Post, PostState
from bridge.turn import Turn
from tests.simulation.run import Report, simulate
from tests.simulation.scenario import Misfortune, scenario

pytestmark = pytest.mark.no_cover  # measured, it takes far longer, and what it runs other tests cover

_SEEDS = 20


def found(
    *misfortunes: Misfortune,
    nodes: int = 1,
    latency_s: float = 0.004,
    patch: Callable[[Exchange], None] = lambda exchange: None,
    first: int = 1,
) -> Report:
    """The first seed, from `first` on, that something is broken in."""
    for seed in range(first, first + _SEEDS):
        drawn = scenario(seed, sessions=12, messages=100, nodes=nodes)
        bad = replace(drawn, nodes=nodes, latency_s=latency_s, misfortunes=frozenset(misfortunes))
        report = simulate(bad, patch)
        if report.broken is not None:
            return report
    raise AssertionError(f"not found in {_SEEDS} seeds")


def broken(report: Report) -> str:
    return report.broken.invariant if report.broken is not None else ""


def test_a_lost_wake_up_that_no_scan_backs_up_is_found() -> None:
    async def nobody(now: float) -> list[SessionId]:
        return []

    def patch(bridge: Exchange) -> None:
        bridge._ledger.store.due_sessions = nobody  # type: ignore[method-assign]

    assert broken(found(Misfortune.LOST_WAKES, patch=patch, first=20)) == "liveness"


def test_a_missing_check_of_the_lease_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def held(work: Work, turn: TurnId, epoch: int) -> Turn | None:
        return await work.turn(turn)

    monkeypatch.setattr(Work, "held", held)
    assert broken(found(Misfortune.FREEZE, nodes=2)) != ""


def test_a_post_that_is_settled_before_it_is_sent_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def deliver(self: Outbox, chat: Chat, post: Post) -> None:
        receipts: list[str | None] = [None]

        async def settled(work: Work) -> None:
            newest = await work.post(post.key) or post
            if (newest.text, newest.buttons) == (post.text, post.buttons):
                work.put(replace(newest, state=PostState.SENT, receipt=receipts[-1]))

        await self._ledger.surely(settled)
        receipts.append(await chat.deliver(post))
        await self._ledger.surely(settled)

    monkeypatch.setattr(Outbox, "_deliver", deliver)
    assert broken(found(Misfortune.CRASH)) == "outbox"


def test_a_lane_that_ends_without_its_last_look_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    class Forgetful(dispatch._Lane):
        @property
        def hinted(self) -> bool:
            return False

        @hinted.setter
        def hinted(self, value: bool) -> None:
            pass

    monkeypatch.setattr(dispatch, "_Lane", Forgetful)
    assert broken(found(latency_s=0.2, first=30)) == "prompt"


def test_a_reply_to_the_wrong_session_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    bring = settlement._bring

    def brought(work: Work, request: object, question: Message, closing: Message) -> None:
        bring(work, request, question, replace(closing, recipient=question.recipient))  # type: ignore[arg-type]

    monkeypatch.setattr(settlement, "_bring", brought)
    assert broken(found()) == "8 answer"


# Of bridges that go on with what others have left


def test_a_bridge_that_prompts_again_what_it_should_go_on_with_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def go_on(self: Turns, run: Run, turn: Turn, agent: Agent) -> None:
        await self.run(run, turn)

    monkeypatch.setattr(Turns, "go_on", go_on)
    assert broken(found(Misfortune.CRASH)) in ("4 one turn", "4 one prompt")


def test_a_bridge_that_stores_again_what_it_has_heard_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fresh(self: TurnListener, work: Work, number: int) -> Turn | None:
        return await work.held(self._turn.id, self._turn.epoch)

    go_on = Turns.go_on

    async def from_the_beginning(self: Turns, run: Run, turn: Turn, agent: Agent) -> None:
        await go_on(self, run, replace(turn, heard=0), agent)

    monkeypatch.setattr(TurnListener, "_fresh", fresh)
    monkeypatch.setattr(Turns, "go_on", from_the_beginning)
    assert broken(found(Misfortune.CRASH)) == "told once"


def test_a_bridge_that_goes_on_after_more_than_was_stored_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    go_on = Turns.go_on

    async def from_later(self: Turns, run: Run, turn: Turn, agent: Agent) -> None:
        await go_on(self, run, replace(turn, heard=turn.heard + 2), agent)

    monkeypatch.setattr(Turns, "go_on", from_later)
    assert broken(found(Misfortune.CRASH, Misfortune.AGENTS, Misfortune.KILLS)) in ("5 second run", "liveness")


def test_a_bridge_that_adopts_under_the_epoch_of_the_last_one_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Turn, "taken_over", lambda self, node, until: replace(self, node=node, leased_until=until))
    assert broken(found(Misfortune.CRASH)) == "4 epoch"


def test_a_bridge_that_takes_what_was_read_under_another_for_seen_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Unheard, "doubt", lambda *_: None)
    assert broken(found(Misfortune.CRASH)) == "1 lost"


def test_a_bridge_that_is_sure_of_what_a_dead_worker_had_heard_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    guarded = Turns._guarded

    async def sure(self: Turns, run: Run, turn: Turn, working: Coroutine[Any, Any, Result | None]) -> Result | None:
        result = await guarded(self, run, turn, working)
        return replace(result, unsure=False) if result is not None else None

    monkeypatch.setattr(Turns, "_guarded", sure)
    assert broken(found(Misfortune.KILLS, latency_s=0.2)) == "5 second run"


def test_a_bridge_that_goes_on_with_children_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(ledger: Ledger) -> None: ...

    monkeypatch.setattr(exchange, "retire_left", nothing)
    assert broken(found(Misfortune.CRASH)) == "child"


def test_a_child_that_outlives_its_turn_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    async def nothing(*_: object, **__: object) -> None: ...

    monkeypatch.setattr(turn_end, "retire_children", nothing)
    assert broken(found()) == "child"
