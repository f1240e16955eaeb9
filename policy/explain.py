"""Why something is decided as it is, what else has a say in it, and what would change it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from bridge.decision import Circumstances, Decision, Effect, Party, Verb
from bridge.grant import Grant, Scope
from bridge.ids import profile_of
from policy.change import Change, Entry, changes
from policy.decide import Rules
from policy.decide import order as rule_order
from policy.grants import order as grant_order
from policy.index import Sides, sides
from policy.rules import Rule
from policy.selectors import Selector

_Entry = TypeVar("_Entry", Rule, Grant)


@dataclass(frozen=True, slots=True)
class Explanation:
    """`decider` is the rule or grant that decided, None where nothing matches. Each of `others` matches too, and would
    decide if those before it were not there. `changes`, all of them made, allow it; there are none where it is allowed.
    """

    sender: Party
    recipient: Party
    verb: Verb
    decision: Decision
    decider: Entry | None
    others: tuple[Entry, ...]
    changes: tuple[Change, ...]

    @property
    def crossing(self) -> bool:
        """Whether it goes from one profile to another, which only what names both of them allows."""
        return profile_of(self.sender.id) != profile_of(self.recipient.id)


def explain(
    rules: Sequence[Rule],
    grants: Sequence[Grant],
    sender: Party,
    recipient: Party,
    verb: Verb,
    circumstances: Circumstances,
) -> Explanation:
    pair = sides(sender, recipient)
    between = sorted((rule for rule in rules if _between(rule, pair)), key=rule_order)
    matching = _in_order(
        [rule for rule in between if verb in rule.verbs],
        sorted((grant for grant in grants if _holds(grant, pair, verb, circumstances)), key=grant_order),
    )
    near = [rule for rule in between if rule.effect is Effect.ALLOW and verb not in rule.verbs]
    return Explanation(
        sender=sender,
        recipient=recipient,
        verb=verb,
        decision=Rules(rules).granted(grants).decide(sender, recipient, verb, circumstances),
        decider=matching[0] if matching else None,
        others=tuple(matching[1:]),
        changes=tuple(changes(matching, near, sender, recipient, verb)),
    )


def _in_order(rules: Sequence[Rule], grants: Sequence[Grant]) -> list[Entry]:
    """What decides, before what would decide without it."""
    denying: list[Entry] = [*_of(Effect.DENY, rules), *_of(Effect.DENY, grants)]
    asking, allowing = _of(Effect.ASK, rules), _of(Effect.ALLOW, rules)
    granted = _of(Effect.ALLOW, grants)
    lasting = [one for one in granted if one.scope is not Scope.ONCE]
    once = [one for one in granted if one.scope is Scope.ONCE]
    # What holds once is spared where a rule allows the same.
    spared = not asking
    return [*denying, *lasting, *(() if spared else once), *asking, *allowing, *(once if spared else ())]


def _of(effect: Effect, entries: Sequence[_Entry]) -> list[_Entry]:
    return [one for one in entries if one.effect is effect]


def _between(rule: Rule, pair: Sides) -> bool:
    return any(each in pair[0] for each in rule.senders) and any(each in pair[1] for each in rule.recipients)


def _holds(grant: Grant, pair: Sides, verb: Verb, circumstances: Circumstances) -> bool:
    if not grant.live(circumstances.now) or verb not in grant.verbs:
        return False
    if grant.conversation is None and grant.scope is Scope.CONVERSATION:
        return False
    if grant.conversation not in (None, circumstances.conversation):
        return False
    return Selector(grant.sender) in pair[0] and Selector(grant.recipient) in pair[1]
