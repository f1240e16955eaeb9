"""The decision over a set of rules and the grants beside them.

What denies beats a grant that allows, that beats a rule that asks, that beats a rule that allows, and where nothing
matches it is deny. So a grant answers what a rule asks. One that holds once decides only where it is needed: not
where a rule allows the same already.
"""

from collections.abc import Collection, Iterable, Sequence

from bridge.decision import Circumstances, Decision, Effect, Party, Verb
from bridge.grant import Grant, Scope
from policy.grants import Granted
from policy.index import Index, Sides, first, sides
from policy.rules import Rule
from policy.selectors import named
from policy.visibility import Memory

NO_RULE = "no-rule"
"""The name of what decides where no rule does."""

_RANK = {Effect.DENY: 0, Effect.ASK: 1, Effect.ALLOW: 2}


def order(rule: Rule) -> tuple[int, int, str]:
    """Denies first, then asks, then allows; among equals, as in the file."""
    return _RANK[rule.effect], rule.line or 0, rule.name


class Rules:
    """Compiled rules; the implementation of `bridge.ports.policy.Policy`. Never changes: new rules are new `Rules`."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._book = _Book(rules)
        self._granted = Granted(())
        self._seen = Memory(self._visible)

    def granted(self, grants: Sequence[Grant]) -> "Rules":
        """The same rules, and these grants beside them in place of any earlier ones."""
        beside = Rules.__new__(Rules)
        beside._book = self._book
        beside._granted = Granted(grants)
        beside._seen = Memory(beside._visible)
        return beside

    def decide(self, sender: Party, recipient: Party, verb: Verb, context: Circumstances) -> Decision:
        pair = sides(sender, recipient)
        decider = self._decider(self._book.matching(pair, verb), self._granted.matching(pair, verb, context))
        return _said(decider, sender, recipient, verb) if decider else _nothing(sender, recipient, verb)

    def denied(self, sender: Party, recipient: Party, verb: Verb, context: Circumstances) -> Decision | None:
        pair = sides(sender, recipient)
        rules = self._book.matching(pair, verb) & self._book.denies
        grants = self._granted.matching(pair, verb, context) & self._granted.denies
        decider = self._decider(rules, grants)
        return _said(decider, sender, recipient, verb) if decider else None

    def visible(self, viewer: Party, others: Sequence[Party], now: float) -> Collection[str]:
        return self._seen.of(viewer, others, self._granted.era(now))

    def _decider(self, rules: int, grants: int) -> Rule | Grant | None:
        rule = self._book.ranked[first(rules)] if rules else None
        if not grants or (rule and rule.effect is Effect.DENY):
            return rule
        grant = self._granted.first(grants)
        spared = grant.scope is Scope.ONCE and grant.effect is Effect.ALLOW and rule and rule.effect is Effect.ALLOW
        return rule if spared else grant

    def _visible(self, viewer: Party, others: Sequence[Party], era: int) -> frozenset[str]:
        return frozenset(
            other.id
            for other in others
            if other.id != viewer.id
            and (self._permits(sides(viewer, other), era) or self._permits(sides(other, viewer), era))
        )

    def _permits(self, pair: Sides, era: int) -> bool:
        """Whether any verb is allowed or askable between the two, in some conversation."""
        rules = self._book.between(pair)
        if not self._granted:
            return self._book.permits(rules)
        grants = self._granted.by_verb(pair, era)
        if not any(grants):
            return self._book.permits(rules)
        return any(
            self._permits_verb(matching, those)
            for matching, those in zip(self._book.by_verb(rules), grants, strict=True)
        )

    def _permits_verb(self, rules: int, grants: int) -> bool:
        if rules & self._book.denies:
            return False
        return any(
            (rules or those) and not those & self._granted.denies for those in self._granted.by_conversation(grants)
        )


class _Book:
    """The rules alone. They change seldom, and are shared by all that stand beside different grants."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self.ranked = sorted(rules, key=order)
        self.denies = 0
        self._index = Index()
        for rank, rule in enumerate(self.ranked):
            self._index.add(1 << rank, rule.senders, rule.recipients, rule.verbs)
            if rule.effect is Effect.DENY:
                self.denies |= 1 << rank

    def matching(self, pair: Sides, verb: Verb) -> int:
        return self._index.between(pair) & self._index.of(verb)

    def between(self, pair: Sides) -> int:
        return self._index.between(pair)

    def by_verb(self, rules: int) -> Iterable[int]:
        return (rules & those for those in self._index.by_verb())

    def permits(self, rules: int) -> bool:
        """Whether any verb is allowed or askable under these rules."""
        if not rules & ~self.denies:
            return False
        return any(those and not those & self.denies for those in self.by_verb(rules))


_SAYS = {Effect.DENY: "denies", Effect.ASK: "asks a person about", Effect.ALLOW: "allows"}


def _said(decider: Rule | Grant, sender: Party, recipient: Party, verb: Verb) -> Decision:
    says = f"{_SAYS[decider.effect]} {_deed(sender, recipient, verb)}"
    if isinstance(decider, Grant):
        return Decision(decider.effect, decider.rule, f"{decider.rule} of {decider.by} {says}", decider.id)
    return Decision(decider.effect, decider.name, f"{decider.name} {says}")


def _deed(sender: Party, recipient: Party, verb: Verb) -> str:
    return f"{verb} from {sender.id} to {named(recipient, verb)}"


def _nothing(sender: Party, recipient: Party, verb: Verb) -> Decision:
    missing = f'from = "{sender.id}", to = "{named(recipient, verb)}", verbs = ["{verb}"]'
    return Decision(
        Effect.DENY, NO_RULE, f"no rule allows {_deed(sender, recipient, verb)}: one with {missing} is missing"
    )
