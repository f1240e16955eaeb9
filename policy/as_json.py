"""What the policy finds out, as plain values for JSON. Times are in seconds since 1970."""

from typing import Any

from bridge.grant import Grant
from policy.as_text import change as change_text
from policy.change import Change, Entry, written
from policy.explain import Explanation


def entry(one: Entry) -> dict[str, Any]:
    if isinstance(one, Grant):
        return {
            "grant": one.id,
            "effect": one.effect.value,
            "from": [one.sender],
            "to": [one.recipient],
            "verbs": sorted(one.verbs),
            "scope": one.scope.value,
            "by": one.by,
            "via": one.via,
            "given_at": one.given_at,
            "expires_at": one.expires_at,
            "conversation": one.conversation,
        }
    return {
        "rule": one.name,
        "line": one.line,
        "effect": one.effect.value,
        "from": list(one.senders),
        "to": list(one.recipients),
        "verbs": sorted(one.verbs),
    }


def explanation(told: Explanation) -> dict[str, Any]:
    return {
        "from": told.sender.id,
        "to": told.recipient.id,
        "verb": told.verb.value,
        "effect": told.decision.effect.value,
        "rule": told.decision.rule,
        "reason": told.decision.reason,
        "crosses_profiles": told.crossing,
        "decided_by": entry(told.decider) if told.decider else None,
        "also": [entry(one) for one in told.others],
        "changes": [_change(one, told) for one in told.changes],
    }


def _change(made: Change, told: Explanation) -> dict[str, Any]:
    return {
        "change": made.kind.value,
        "text": next(iter(change_text(made, told))),
        "changes": entry(made.entry) if made.entry else None,
        "then": written(made.then) if made.then else None,
        "instead": written(made.alone) if made.alone else None,
    }
