"""Each kind of failure, before and after tools began, with and without a time: what becomes of the input, what it
costs, what people are told, and what they can do about it (DESIGN §5)."""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from bridge.message import Outcome, State
from bridge.ports.runtime import Prompt, Result, ToolBegun
from bridge.turn import Failure, FailureKind
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import Stage, ident, room, session, stage

CAREER = room("career")
BACKOFF_S = 61
RESETS_S = 3_600
TEMPORARY = (FailureKind.RATE_LIMIT, FailureKind.CAPACITY, FailureKind.TIMEOUT)
PAUSING = (FailureKind.AUTH, FailureKind.CONFIG, FailureKind.BILLING)


@dataclass(frozen=True, slots=True)
class Case:
    """`waits_s` is how long the input waits at least, None where it does not wait for a time."""

    kind: FailureKind
    retryable: bool
    tools: bool
    resets: bool
    state: State
    outcome: Outcome | None = None
    attempts: int = 0
    paused: bool = False
    waits_s: float | None = None
    told: str = ""

    def __str__(self) -> str:
        return f"{self.kind}-{'retryable' * self.retryable}-{'tools' * self.tools}-{'resets' * self.resets}"


def cases() -> Iterator[Case]:
    for resets in (False, True):
        waits_s = RESETS_S if resets else 0
        for kind in TEMPORARY:
            yield Case(kind, True, False, resets, State.QUEUED, waits_s=waits_s, told="or at once after /resume")
            yield Case(kind, True, True, resets, State.PARKED, told="Run it again?")
            # One of which the agent knows that it stays is like any other.
            yield Case(kind, False, False, resets, State.QUEUED, attempts=1, waits_s=waits_s, told="Tried again in")
            yield Case(kind, False, True, resets, State.PARKED, attempts=1, told="Run it again?")
        for retryable in (False, True):
            for kind in PAUSING:
                yield Case(kind, retryable, False, resets, State.QUEUED, paused=True, told="set it right, then /resume")
                yield Case(kind, retryable, True, resets, State.PARKED, paused=True, told="set it right, then /resume")
            crash = FailureKind.CRASH
            yield Case(crash, retryable, False, resets, State.QUEUED, attempts=1, waits_s=waits_s, told="Tried again")
            yield Case(crash, retryable, True, resets, State.PARKED, attempts=1, told="Run it again?")
            for tools in (False, True):
                yield Case(
                    FailureKind.REFUSAL,
                    retryable,
                    tools,
                    resets,
                    State.SETTLED,
                    Outcome.FAILED,
                    attempts=1,
                    told="It is not tried again.",
                )


def failing_once(on: Stage, case: Case) -> None:
    resets_at = on.clock.now() + RESETS_S if case.resets else None

    async def behaviour(agent: FakeAgent, prompt: Prompt) -> str | Result:
        assert agent.listener is not None
        if len(on.runtime.prompts) > 1:
            return "here it is"
        if case.tools:
            await agent.listener.happened(ToolBegun("1", "Bash", reading=False))
        return Result("", "failed", Failure(case.kind, "no luck", case.retryable, resets_at))

    on.agent("career", behaviour)


@pytest.mark.parametrize("case", list(cases()), ids=str)
async def test_what_becomes_of_the_input_of_a_turn_that_failed(case: Case) -> None:
    async with stage(session("career")) as on:
        failing_once(on, case)
        said = await on.say("career", "look")
        await on.chat.seen(CAREER, case.told)
        await on.quiet()
        message = await on.message(said)
        known = await on.store.session(ident("career"))
        assert known is not None
        assert (message.state, message.outcome, message.attempts) == (case.state, case.outcome, case.attempts)
        assert known.paused == ("no luck" if case.paused else None)

        if case.waits_s is not None:
            await on.clock.advance(case.waits_s - 1)
            assert len(on.runtime.prompts) == 1 or case.waits_s == 0
            await on.clock.advance(BACKOFF_S)
            await on.chat.seen(CAREER, "here it is")
        else:
            await on.clock.advance(RESETS_S + BACKOFF_S)
            assert len(on.runtime.prompts) == 1, "nothing but a person's word lets it go on"


@pytest.mark.parametrize("case", [case for case in cases() if case.state is not State.SETTLED], ids=str)
async def test_a_persons_word_overrides_whatever_holds_it_back(case: Case) -> None:
    async with stage(session("career")) as on:
        failing_once(on, case)
        await on.say("career", "look")
        await on.chat.seen(CAREER, case.told)
        await on.say("career", "/resume")
        if case.state is State.PARKED:
            await on.press_when_seen("career", "Retry", "Run it again?")
        await on.chat.seen(CAREER, "here it is")
        assert len(on.runtime.prompts) == 2


@pytest.mark.parametrize("kind", FailureKind)
async def test_only_what_is_unknown_dies_of_being_tried(kind: FailureKind) -> None:
    async with stage(session("career")) as on:
        failure = Failure(kind, "no luck", retryable=kind in (*TEMPORARY, FailureKind.CRASH))

        async def behaviour(agent: FakeAgent, prompt: Prompt) -> Result:
            return Result("", "failed", failure)

        on.agent("career", behaviour)
        sent = await on.send("career", "look")
        for _ in range(8):
            await on.clock.advance(BACKOFF_S)
        message = await on.message(sent.message_id)
        outcome = {FailureKind.CRASH: Outcome.DEAD, FailureKind.REFUSAL: Outcome.FAILED}.get(kind)
        assert message.outcome is outcome
        assert message.attempts == {Outcome.DEAD: 5, Outcome.FAILED: 1, None: 0}[outcome]
