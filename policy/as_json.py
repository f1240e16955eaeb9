"""What the policy finds out, as plain values for JSON. Times are in seconds since 1970."""

from collections.abc import Sequence
from typing import Any

from bridge.grant import Grant
from policy.as_text import change as change_text
from policy.change import Change, Entry, written
from policy.check import Finding
from policy.explain import Explanation
from policy.simulate import Simulation


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


def explanation(told: Explanation, notes: Sequence[str] = ()) -> dict[str, Any]:
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
        "notes": list(notes),
    }


def finding(one: Finding) -> dict[str, Any]:
    return {
        "level": one.level.value,
        "finding": one.trouble.value,
        "rule": one.rule.name,
        "line": one.rule.line,
        "text": one.text,
        "remedy": one.remedy,
        "by": [each.name for each in one.by],
    }


def simulation(done: Simulation) -> dict[str, Any]:
    return {
        "changed": done.changed,
        "same": done.same,
        "apart": {reason.value: count for reason, count in sorted(done.apart.items())},
        "shifts": [
            {
                "from": shift.sender,
                "to": shift.recipient,
                "verbs": [verb.value for verb in shift.verbs],
                "count": shift.count,
                "old": {"effect": shift.old.effect.value, "rule": shift.old.rule},
                "new": {"effect": shift.new.effect.value, "rule": shift.new.rule},
            }
            for shift in done.shifts
        ],
    }


def _change(made: Change, told: Explanation) -> dict[str, Any]:
    return {
        "change": made.kind.value,
        "text": next(iter(change_text(made, told))),
        "changes": entry(made.entry) if made.entry else None,
        "then": written(made.then) if made.then else None,
        "instead": written(made.alone) if made.alone else None,
    }
