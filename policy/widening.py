"""What new rules permit that earlier ones did not."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from bridge.decision import Effect, Verb
from policy.reach import Pair, Reaches
from policy.rules import Rule


@dataclass(frozen=True, slots=True)
class Atom:
    """The least that a rule can say."""

    pair: Pair
    verb: Verb
    effect: Effect


def widened(old: Sequence[Rule], new: Sequence[Rule]) -> list[str]:
    """A line each for people: an allow or an ask that nothing held so far, a deny that is gone, and an ask that is gone
    where something is allowed. Where there is none, `new` permits nothing that `old` did not.

    Rules are compared by what they say, whatever sessions there are: what is new and has no effect yet is named too.
    """
    before, after = Reaches(old), Reaches(new)
    kept = {_said(rule) for rule in old} & {_said(rule) for rule in new}
    added = _atoms(rule for rule in new if rule.effect is not Effect.DENY and _said(rule) not in kept)
    gone = _atoms(rule for rule in old if rule.effect is not Effect.ALLOW and _said(rule) not in kept)
    return [
        *_lines((one for one in added if not _held(one, before)), _ADDED),
        *_lines((one for one in gone if _missed(one, after)), _GONE),
    ]


def _said(rule: Rule) -> object:
    return frozenset(rule.senders), frozenset(rule.recipients), rule.verbs, rule.effect


def _atoms(rules: Iterable[Rule]) -> set[Atom]:
    return {
        Atom((sender, recipient), verb, rule.effect)
        for rule in rules
        for sender in rule.senders
        for recipient in rule.recipients
        for verb in rule.verbs
    }


def _held(one: Atom, before: Reaches) -> bool:
    """Whether as much was permitted: what was allowed may be asked about."""
    enough = (Effect.ALLOW,) if one.effect is Effect.ALLOW else (Effect.ALLOW, Effect.ASK)
    return before.hold(one.pair, one.verb, enough)


def _missed(one: Atom, after: Reaches) -> bool:
    """Whether nothing as strict is there in its place. An ask is missed only where something is allowed."""
    enough = (Effect.DENY,) if one.effect is Effect.DENY else (Effect.DENY, Effect.ASK)
    if after.hold(one.pair, one.verb, enough):
        return False
    return one.effect is Effect.DENY or after.meet(one.pair, one.verb, Effect.ALLOW)


_ADDED = {Effect.ALLOW: "allow", Effect.ASK: "ask a person about"}
_GONE = {Effect.DENY: "no longer deny", Effect.ASK: "no longer ask a person about"}


def _lines(found: Iterable[Atom], words: dict[Effect, str]) -> Iterator[str]:
    verbs: dict[tuple[Effect, Pair], list[Verb]] = defaultdict(list)
    for one in found:
        verbs[one.effect, one.pair].append(one.verb)
    for (effect, (sender, recipient)), those in sorted(verbs.items(), key=lambda item: item[0]):
        yield f"{words[effect]} {', '.join(verb for verb in Verb if verb in those)}: {sender} → {recipient}"
