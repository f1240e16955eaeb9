"""How tables write rules, grants and verbs."""

import re

from bridge.decision import Effect, Verb
from bridge.grant import Grant, GrantId, Scope
from bridge.ids import ConversationId
from policy.rules import Rule
from policy.selectors import selector

_RULE = re.compile(r"(?P<effect>\w+) (?P<senders>\S+) -> (?P<recipients>\S+): (?P<verbs>[\w ]+)")
_GRANT = re.compile(
    r"(?P<id>\w+) (?P<scope>\w+) (?P<effect>\w+) (?P<sender>\S+) -> (?P<recipient>\S+):"
    r"(?P<verbs>(?: \w+(?!=)\b)+)(?P<rest>(?: \w+=\S+)*)"
)


def read(pattern: re.Pattern[str], text: str) -> dict[str, str]:
    found = pattern.fullmatch(text)
    assert found, f"this row cannot be read: {text}"
    return {name: value or "" for name, value in found.groupdict().items()}


def settings(rest: str) -> dict[str, str]:
    return dict(each.split("=") for each in rest.split())


def verbs(text: str) -> tuple[Verb, ...]:
    return tuple(Verb) if text.strip() == "all" else tuple(Verb(each) for each in text.split())


def rule(number: int, text: str) -> Rule:
    one = read(_RULE, text)
    senders, recipients = (tuple(map(selector, one[side].split(","))) for side in ("senders", "recipients"))
    return Rule(senders, recipients, frozenset(verbs(one["verbs"])), Effect(one["effect"]), f"r{number}", number)


def grant(text: str) -> Grant:
    one = read(_GRANT, text)
    more = settings(one["rest"])

    def time(key: str) -> float | None:
        return float(more[key]) if key in more else None

    return Grant(
        GrantId(one["id"]),
        one["sender"],
        one["recipient"],
        verbs(one["verbs"]),
        Effect(one["effect"]),
        Scope(one["scope"]),
        "ada",
        "cli",
        given_at=time("given") or 0.0,
        expires_at=time("until"),
        conversation=ConversationId(more["in"]) if "in" in more else None,
        used_at=time("used"),
        revoked_at=time("revoked"),
    )
