"""What other rules would have done to what was asked so far."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from bridge.decision import Circumstances, Decision, Effect, Party, Verb, Verdict
from bridge.errors import Code
from bridge.ids import SessionId, address, profile_of
from bridge.message import Origin
from policy.decide import Rules
from policy.rules import Rule


class Apart(StrEnum):
    """What decided, where rules did not."""

    PERSON = "person"
    """A person who may talk at the recipient's place, and needs no rule; one that denies holds all the same."""
    GRANT = "grant"
    """A grant that allowed; a rule that denies beats it."""
    REPLY = "reply"
    """The request that was answered. No rule has a say in it."""
    LIMIT = "limit"
    """A limit, a budget, or what the recipient takes."""
    CLOSED = "closed"
    """The recipient or the sender was closed or paused."""
    UNKNOWN = "unknown"
    """The recipient was unknown or invisible, or one of the two is not among the parties any more."""
    FORM = "form"
    """The request made no sense."""


_OF_CODE = {
    Code.SESSION_CLOSED: Apart.CLOSED,
    Code.PAUSED: Apart.CLOSED,
    Code.UNKNOWN_SESSION: Apart.UNKNOWN,
    Code.UNKNOWN_MESSAGE: Apart.UNKNOWN,
    Code.INVALID_REQUEST: Apart.FORM,
    Code.SELF_SEND: Apart.FORM,
    Code.TOO_LARGE: Apart.FORM,
    Code.EXPIRED: Apart.FORM,
}
_BY_RULES = (None, Code.NOT_PERMITTED, Code.WAKE_NOT_PERMITTED)


@dataclass(frozen=True, slots=True)
class Shift:
    """The same thing, asked `count` times, and decided otherwise."""

    sender: SessionId
    recipient: SessionId
    verbs: tuple[Verb, ...]
    count: int
    old: Decision
    new: Decision


@dataclass(frozen=True, slots=True)
class Simulation:
    """Counts of recorded decisions: each is in `same`, in one of `shifts`, or `apart`. `same` and `shifts` compare what
    the rules of now say with what the others do; the shifts are those with the greatest count first."""

    same: int
    shifts: tuple[Shift, ...]
    apart: Mapping[Apart, int]

    @property
    def changed(self) -> int:
        return sum(shift.count for shift in self.shifts)


def simulate(
    recorded: Iterable[Verdict], parties: Iterable[Party], rules_now: Iterable[Rule], rules_then: Iterable[Rule]
) -> Simulation:
    now, then = Rules(rules_now), Rules(rules_then)
    known = {party.id: party for party in parties}
    asked = Counter(_question(verdict, known) for verdict in recorded)
    same, apart, shifts = 0, Counter[Apart](), list[Shift]()
    for question, count in asked.items():
        if isinstance(question, Apart):
            apart[question] += count
            continue
        old, new = _said(now, question), _said(then, question)
        if old.effect is not new.effect:
            shifts.append(Shift(question.sender.id, question.recipient.id, question.verbs, count, old, new))
        elif question.beside is not None:
            apart[question.beside] += count
        else:
            same += count
    shifts.sort(key=lambda shift: (-shift.count, shift.sender, shift.recipient, shift.verbs, shift.old.rule))
    return Simulation(same, tuple(shifts), apart)


@dataclass(frozen=True, slots=True)
class _Question:
    """`beside` is what allowed it beside the rules, as far as none denies it."""

    sender: Party
    recipient: Party
    verbs: tuple[Verb, ...]
    beside: Apart | None


def _question(verdict: Verdict, known: Mapping[SessionId, Party]) -> _Question | Apart:
    if verdict.code not in _BY_RULES:
        return _OF_CODE.get(verdict.code, Apart.LIMIT)
    if verdict.rule.startswith("reply:"):
        return Apart.REPLY
    if verdict.rule.startswith("approval:"):
        return Apart.GRANT  # the asking that came before it is a record of its own
    if verdict.rule == "accept_wake":
        return Apart.LIMIT
    if not verdict.verbs:
        return Apart.PERSON  # at the session's own place
    sender = known.get(verdict.sender)
    # A refused request keeps its recipient as it was written.
    recipient = known.get(address(verdict.recipient, profile_of(verdict.sender)) or SessionId(verdict.recipient))
    if sender is None or recipient is None:
        return Apart.UNKNOWN
    beside = None
    if verdict.rule.startswith("grant:"):
        if verdict.effect is not Effect.ALLOW:
            return Apart.GRANT  # no rule allows what a grant denies
        beside = Apart.GRANT
    if verdict.origin is Origin.USER:
        beside = Apart.PERSON
    return _Question(sender, recipient, tuple(map(Verb, verdict.verbs)), beside)


def _said(policy: Rules, question: _Question) -> Decision:
    """As admission has it: the first verb that is not allowed decides, else the first of all."""
    # Rules alone know neither time nor conversation.
    context = Circumstances(0.0, None)
    decisions = []
    for verb in question.verbs:
        between = question.sender, question.recipient, verb, context
        if question.beside is None:
            decision = policy.decide(*between)
        else:
            by = question.beside.value
            decision = policy.denied(*between) or Decision(Effect.ALLOW, by, f"a {by} allows it")
        if decision.effect is not Effect.ALLOW:
            return decision
        decisions.append(decision)
    return decisions[0]
