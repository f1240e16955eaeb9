"""The smallest changes of rules and grants under which something would be allowed."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from bridge.decision import Effect, Party, Verb
from bridge.grant import Grant
from policy.rules import Rule
from policy.selectors import Selector, named

Entry = Rule | Grant

NEW = "a new rule"
"""The name of a rule that is in no file yet."""


class Kind(StrEnum):
    ADD_RULE = "add_rule"
    ADD_VERB = "add_verb"
    ALLOW = "allow"
    """What asks is to allow."""
    NARROW = "narrow"
    """What denies is to leave out this sender, this recipient or this verb."""
    REMOVE = "remove"
    REVOKE = "revoke"


@dataclass(frozen=True, slots=True)
class Change:
    """`entry` is what is changed, None for a rule to be added; `then` what it becomes, None where it goes.

    `alone` is the rule that would do instead for these two and this verb alone, where the change lets others do more.
    """

    kind: Kind
    entry: Entry | None
    then: Rule | None = None
    alone: Rule | None = None


def changes(
    matching: Sequence[Entry], near: Sequence[Rule], sender: Party, recipient: Party, verb: Verb
) -> list[Change]:
    """What to do so that it is allowed, all of it; nothing where it is. `matching` decides it, the first of them first;
    `near` are the allowing rules that match but for the verb."""
    needed: list[Change] = []
    for entry in matching:
        if entry.effect is Effect.ALLOW:
            return needed
        if isinstance(entry, Grant):
            needed.append(Change(Kind.REVOKE, entry))
        elif entry.effect is Effect.DENY:
            needed.append(_without(entry, sender, recipient, verb))
        else:
            needed.append(Change(Kind.ALLOW, entry, replace(entry, effect=Effect.ALLOW)))
    if not any(change.kind is Kind.ALLOW for change in needed):
        needed.append(_with(near, sender, recipient, verb))
    return needed


def written(rule: Rule) -> str:
    """The rule as TOML, to be pasted into the file."""
    lines = [f"from = {_listed(rule.senders)}", f"to = {_listed(rule.recipients)}"]
    verbs = [json.dumps(verb.value) for verb in Verb if verb in rule.verbs]
    return "\n".join(["[[policy.rules]]", *lines, f"verbs = [{', '.join(verbs)}]", f'effect = "{rule.effect}"'])


def is_of_two(rule: Rule) -> bool:
    """Whether it names one session on either side, each by its id."""
    return all(len(side) == 1 and width(side[0]) == 0 for side in (rule.senders, rule.recipients))


def width(selector: Selector) -> int:
    """How far a selector reaches, by its form: 0 for an id, more for what may match more."""
    form, _, rest = selector.partition(":")
    if rest:
        return {"project": 1, "tag": 1, "kind": 2}[form]
    if selector == "*":
        return 4
    return 3 if selector.endswith("/*") else 0


def _without(rule: Rule, sender: Party, recipient: Party, verb: Verb) -> Change:
    """Who is named beside others is left out; else the verb is, if there are others; else it must go."""
    for then in _narrower(rule, sender, recipient):
        return Change(Kind.NARROW, rule, then)
    if len(rule.verbs) > 1:
        return Change(Kind.NARROW, rule, replace(rule, verbs=rule.verbs - {verb}))
    return Change(Kind.REMOVE, rule)


def _narrower(rule: Rule, sender: Party, recipient: Party) -> Iterator[Rule]:
    if rest := _others(rule.senders, sender):
        yield replace(rule, senders=rest)
    if rest := _others(rule.recipients, recipient):
        yield replace(rule, recipients=rest)


def _others(side: tuple[Selector, ...], party: Party) -> tuple[Selector, ...]:
    """The side without that session, if it names none but single sessions."""
    return tuple(each for each in side if each != Selector(party.id)) if all(width(each) == 0 for each in side) else ()


def _with(near: Sequence[Rule], sender: Party, recipient: Party, verb: Verb) -> Change:
    alone = Rule((Selector(sender.id),), (named(recipient, verb),), frozenset({verb}), Effect.ALLOW, NEW)
    if not near:
        return Change(Kind.ADD_RULE, None, alone)
    narrowest = min(near, key=lambda rule: max(map(width, rule.senders)) + max(map(width, rule.recipients)))
    then = replace(narrowest, verbs=narrowest.verbs | {verb})
    return Change(Kind.ADD_VERB, narrowest, then, None if is_of_two(narrowest) else alone)


def _listed(side: tuple[Selector, ...]) -> str:
    texts = [json.dumps(each, ensure_ascii=False) for each in side]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
