"""The decision over a set of rules: deny beats ask beats allow, and nothing matched is deny.

A set of rules is an int here: bit n stands for the rule of rank n, and the ranks put denies first, then
asks, then allows. The rules that match a question are the intersection of three sets (those for the verb,
for the sender, for the recipient), and the one that decides is its lowest bit. A decision costs a few
look-ups and big-integer operations, however many rules there are.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence

from bridge.decision import Decision, Effect, Party, Verb
from bridge.ids import profile_of
from policy.rules import Rule
from policy.selectors import Selector, by_name, within_profile
from policy.visibility import Memory

NO_RULE = "no-rule"
"""The name of what decides where no rule does."""

_RANK = {Effect.DENY: 0, Effect.ASK: 1, Effect.ALLOW: 2}


class Rules:
    """Compiled rules; the implementation of `bridge.ports.policy.Policy`. Never changes: new rules are new `Rules`."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._ranked = sorted(rules, key=lambda rule: (_RANK[rule.effect], rule.line or 0, rule.name))
        self._verbs: dict[Verb, int] = dict.fromkeys(Verb, 0)
        self._senders: dict[Selector, int] = defaultdict(int)
        self._recipients: dict[Selector, int] = defaultdict(int)
        self._denies = 0
        for rank, rule in enumerate(self._ranked):
            self._add(rule, 1 << rank)
        self._seen = Memory(self._visible)

    def _add(self, rule: Rule, bit: int) -> None:
        for verb in rule.verbs:
            self._verbs[verb] |= bit
        for each in rule.senders:
            self._senders[each] |= bit
        for each in rule.recipients:
            self._recipients[each] |= bit
        if rule.effect is Effect.DENY:
            self._denies |= bit

    def decide(self, sender: Party, recipient: Party, verb: Verb) -> Decision:
        matching = self._verbs[verb] & self._between(sender, recipient)
        return self._said(matching, sender, recipient, verb) if matching else _nothing(sender, recipient, verb)

    def denied(self, sender: Party, recipient: Party, verb: Verb) -> Decision | None:
        matching = self._verbs[verb] & self._between(sender, recipient) & self._denies
        return self._said(matching, sender, recipient, verb) if matching else None

    def visible(self, viewer: Party, others: Sequence[Party]) -> Collection[str]:
        return self._seen.of(viewer, others)

    def _visible(self, viewer: Party, others: Sequence[Party]) -> frozenset[str]:
        return frozenset(
            other.id
            for other in others
            if other.id != viewer.id
            and (self._permits(self._between(viewer, other)) or self._permits(self._between(other, viewer)))
        )

    def _between(self, sender: Party, recipient: Party) -> int:
        """The rules that match the pair, whatever the verb."""
        crossing = profile_of(sender.id) != profile_of(recipient.id)
        matching = _union(self._senders, by_name(sender), () if crossing else within_profile(sender))
        if matching:
            matching &= _union(self._recipients, by_name(recipient), () if crossing else within_profile(recipient))
        return matching

    def _permits(self, matching: int) -> bool:
        """Whether any verb is allowed or askable under these rules."""
        if not matching & ~self._denies:
            return False
        of_verbs = (matching & rules for rules in self._verbs.values())
        return any(rules and not _lowest(rules) & self._denies for rules in of_verbs)

    def _said(self, matching: int, sender: Party, recipient: Party, verb: Verb) -> Decision:
        rule = self._ranked[_lowest(matching).bit_length() - 1]
        return Decision(rule.effect, rule.name, f"{rule.name} {_SAYS[rule.effect]} {_deed(sender, recipient, verb)}")


_SAYS = {Effect.DENY: "denies", Effect.ASK: "asks a person about", Effect.ALLOW: "allows"}


def _union(index: Mapping[Selector, int], *groups: Iterable[Selector]) -> int:
    rules = 0
    for group in groups:
        for each in group:
            rules |= index.get(each, 0)
    return rules


def _lowest(rules: int) -> int:
    return rules & -rules


def _deed(sender: Party, recipient: Party, verb: Verb) -> str:
    return f"{verb} from {sender.id} to {recipient.id}"


def _nothing(sender: Party, recipient: Party, verb: Verb) -> Decision:
    missing = f'from = "{sender.id}", to = "{recipient.id}", verbs = ["{verb}"]'
    return Decision(
        Effect.DENY, NO_RULE, f"no rule allows {_deed(sender, recipient, verb)}: one with {missing} is missing"
    )
