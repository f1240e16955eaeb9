"""What is wrong with a set of rules, given the sessions that there are: rules that match nothing, and rules that match
only what others decide."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum

from bridge.decision import Effect, Party, Verb
from policy.decide import order
from policy.index import ranks
from policy.roster import Reach, Roster
from policy.rules import Rule
from policy.selectors import Selector


class Level(StrEnum):
    ERROR = "error"
    WARNING = "warning"


class Trouble(StrEnum):
    NEVER_MATCHES = "never_matches"
    UNKNOWN_SESSION = "unknown_session"
    """It matches others, but one of the sessions that it names does not exist."""
    UNUSED_SELECTOR = "unused_selector"
    """It would match the same without it."""
    SHADOWED = "shadowed"
    """It never decides: for all that it matches, `by` do."""


@dataclass(frozen=True, slots=True)
class Finding:
    """`text` goes on after the name of the rule."""

    level: Level
    trouble: Trouble
    rule: Rule
    text: str
    remedy: str
    by: tuple[Rule, ...] = ()


def check(rules: Iterable[Rule], sessions: Sequence[Party]) -> list[Finding]:
    """In the order of the file. Exact for these sessions: a rule of which it says that it never matches or never
    decides can be removed, and nothing is decided otherwise."""
    return _Check(sorted(rules, key=order), sessions).findings()


class _Check:
    def __init__(self, ranked: Sequence[Rule], sessions: Sequence[Party]) -> None:
        self._ranked = ranked
        self._ids = sorted({party.id for party in sessions})
        self._roster = Roster(ranked, sessions)
        self._reaches = [self._roster.reach(rule.senders, rule.recipients) for rule in ranked]
        self._of_sender = [0] * self._roster.size
        for rank, reach in enumerate(self._reaches):
            for sender in ranks(reach.senders):
                self._of_sender[sender] |= 1 << rank
        self._of_verb = {verb: _bits(verb in rule.verbs for rule in ranked) for verb in Verb}

    def findings(self) -> list[Finding]:
        found = [finding for rank in range(len(self._ranked)) for finding in self._of(rank)]
        return sorted(found, key=lambda finding: finding.rule.line or 0)

    def _of(self, rank: int) -> Iterator[Finding]:
        rule, reach = self._ranked[rank], self._reaches[rank]
        if not self._roster.meets(reach):
            yield self._never(rule, reach)
            return
        for name, side in (("from", rule.senders), ("to", rule.recipients)):
            for each in dict.fromkeys(side):
                yield from self._idle(rule, name, each)
        by = self._shadow(rank)
        if by is not None:
            yield _shadowed(rule, [self._ranked[one] for one in ranks(by)])

    # What matches nothing

    def _never(self, rule: Rule, reach: Reach) -> Finding:
        missing = [
            (name, each)
            for name, side, groups in (
                ("from", rule.senders, reach.senders),
                ("to", rule.recipients, reach.recipients),
            )
            if not groups
            for each in dict.fromkeys(side)
        ]
        if missing:
            why = "; ".join(f'"{name}" has {each}, {_absent(each)}' for name, each in missing)
            remedy = self._remedy([each for _, each in missing])
        elif self._roster.meets_across(reach):
            why = "the sessions of its two sides are of different profiles"
            remedy = "Name both sides by ids or as PROFILE/*; nothing else goes from profile to profile."
        else:
            why = "both its sides are the same session, which sends nothing to itself"
            remedy = "Name another session on one side, or remove the rule."
        return Finding(Level.ERROR, Trouble.NEVER_MATCHES, rule, f"can never match: {why}", remedy)

    def _idle(self, rule: Rule, name: str, each: Selector) -> Iterator[Finding]:
        """A selector without which the rule, which does match something, would match the same."""
        if not self._roster.groups((each,)):
            single = "/" in each and ":" not in each and not each.endswith("*")
            level, trouble = (
                (Level.ERROR, Trouble.UNKNOWN_SESSION) if single else (Level.WARNING, Trouble.UNUSED_SELECTOR)
            )
            yield Finding(level, trouble, rule, f'has {each} in "{name}", {_absent(each)}', self._remedy([each]))
            return
        senders, recipients = ((each,), rule.recipients) if name == "from" else (rule.senders, (each,))
        reach = self._roster.reach(senders, recipients)
        if self._roster.meets(reach):
            return
        if self._roster.meets_across(reach):
            why = "which meets the other side only in another profile, where it does not match"
        else:
            why = "which would send only to itself there"
        text, remedy = f'has {each} in "{name}", {why}', f'Take {each} out of "{name}": nothing changes.'
        yield Finding(Level.WARNING, Trouble.UNUSED_SELECTOR, rule, text, remedy)

    def _remedy(self, missing: Sequence[Selector]) -> str:
        for each in missing:
            if close := get_close_matches(each, self._ids, n=1, cutoff=0.8):
                return f"Did you mean {close[0]}? Correct it, or declare the session."
        if all("/" in each and ":" not in each for each in missing):
            return "Correct the name, declare such a session, or show this check the file of that profile: --with FILE."
        return "Correct it, give it to a session, or remove the rule."

    # What others decide

    def _shadow(self, rank: int) -> int | None:
        """The stronger rules that decide all that this one matches, or None where one thing is left to it."""
        by = 0
        for verb in sorted(self._ranked[rank].verbs):
            stronger = self._of_verb[verb] & ((1 << rank) - 1)
            if not stronger:
                return None
            for sender in ranks(self._reaches[rank].senders):
                left = self._roster.recipients(self._reaches[rank], sender)
                for one in ranks(stronger & self._of_sender[sender]):
                    if not left:
                        break
                    taken = left & self._roster.recipients(self._reaches[one], sender)
                    if taken:
                        by |= 1 << one
                        left &= ~taken
                if left:
                    return None
        return by


def _bits(truths: Iterable[bool]) -> int:
    return sum(1 << number for number, truth in enumerate(truths) if truth)


def _absent(selector: Selector) -> str:
    form, _, _ = selector.partition(":")
    if form in ("tag", "project", "kind"):
        return f"a {form} that no session has"
    if selector == "*":
        return "and there are no sessions"
    return "a profile without sessions" if selector.endswith("/*") else "which no session is"


def _shadowed(rule: Rule, by: Sequence[Rule]) -> Finding:
    names = ", ".join(one.name for one in by)
    told = {Effect.DENY: "denied", Effect.ASK: "asked about", Effect.ALLOW: "allowed"}
    how = " or ".join(told[effect] for effect in Effect if any(one.effect is effect for one in by))
    text = f"never decides: all that it matches is {how} by {names}"
    same = all(one.effect is rule.effect for one in by)
    remedy = "Remove it: nothing changes." if same else f"Remove it: nothing changes. If it is meant, narrow {names}."
    return Finding(Level.WARNING, Trouble.SHADOWED, rule, text, remedy, tuple(by))
