"""Faults that are planted on purpose: a simulation that does not find them would find no others."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from bridge.flow import dispatch, settlement
from bridge.flow.exchange import Exchange
from bridge.flow.outbox import Outbox
from bridge.flow.work import Work
from bridge.ids import SessionId, TurnId
from bridge.message import Message
from bridge.ports.chat import Chat
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

    def patch(exchange: Exchange) -> None:
        exchange._ledger.store.due_sessions = nobody  # type: ignore[method-assign]

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
    assert broken(found(latency_s=0.2)) == "prompt"


def test_a_reply_to_the_wrong_session_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    bring = settlement._bring

    def brought(work: Work, request: object, question: Message, closing: Message) -> None:
        bring(work, request, question, replace(closing, recipient=question.recipient))  # type: ignore[arg-type]

    monkeypatch.setattr(settlement, "_bring", brought)
    assert broken(found()) == "8 answer"
