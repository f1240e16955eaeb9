"""The decision table of `table.toml`, row by row. `worlds` has the same for what nobody thought of."""

import re
import tomllib
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from bridge.decision import Circumstances, Effect, Party, Verb
from bridge.grant import Grant, GrantId, Scope
from bridge.ids import ConversationId, SessionId
from bridge.session import Kind
from policy.decide import NO_RULE, Rules
from policy.explain import explain
from policy.rules import Rule
from policy.selectors import selector

TABLE = tomllib.loads(Path(__file__).with_name("table.toml").read_text(encoding="utf-8"))
PARTIES = {
    name: Party(SessionId(one["id"]), Kind(one["kind"]), one.get("project"), frozenset(one.get("tags", ())))
    for name, one in TABLE["parties"].items()
}
USUAL = Circumstances(100.0, None)

_RULE = re.compile(r"(?P<effect>\w+) (?P<senders>\S+) -> (?P<recipients>\S+): (?P<verbs>[\w ]+)")
_GRANT = re.compile(
    r"(?P<id>\w+) (?P<scope>\w+) (?P<effect>\w+) (?P<sender>\S+) -> (?P<recipient>\S+):"
    r"(?P<verbs>(?: \w+(?!=)\b)+)(?P<rest>(?: \w+=\S+)*)"
)
_ROW = re.compile(
    r"(?P<senders>[\w -]+) -> (?P<recipients>[\w -]+): (?P<verbs>[\w ]+?)(?: \|(?P<rest>(?: \w+=\S+)+))?"
    r" = (?P<effect>\w+) (?P<decider>\w+)"
)

Question = tuple[str, str, Verb, Circumstances]
Answer = tuple[Effect, str]


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


def row(text: str) -> Iterator[tuple[Question, Answer]]:
    one = read(_ROW, text)
    more = settings(one["rest"])
    context = Circumstances(float(more.get("now", USUAL.now)), ConversationId(more["in"]) if "in" in more else None)
    for sender, recipient, verb in product(one["senders"].split(), one["recipients"].split(), verbs(one["verbs"])):
        if sender != recipient:
            yield (sender, recipient, verb, context), (Effect(one["effect"]), one["decider"])


def expected(block: dict[str, Any]) -> dict[Question, Answer]:
    """Every question of the block; what no row says is denied by nothing."""
    everything = product(PARTIES, PARTIES, Verb, [USUAL])
    rows = {question: (Effect.DENY, "none") for question in everything if question[0] != question[1]}
    said: set[Question] = set()
    for text in block.get("rows", ()):
        for question, answer in row(text):
            assert question not in said, f"{block['name']}: said twice: {text}"
            said.add(question)
            rows[question] = answer
    return rows


def test_the_policy_decides_as_the_table_says() -> None:
    wrong = []
    count = 0
    for block in TABLE["block"]:
        rules = [rule(number, text) for number, text in enumerate(block.get("rules", ()), 1)]
        policy = Rules(reversed(rules)).granted([grant(text) for text in block.get("grants", ())])
        for (sender, recipient, verb, context), answer in expected(block).items():
            decision = policy.decide(PARTIES[sender], PARTIES[recipient], verb, context)
            decider = "none" if decision.rule == NO_RULE else decision.grant or decision.rule
            count += 1
            if (decision.effect, decider) != answer:
                wrong.append(
                    f"{block['name']}: {sender} -> {recipient}: {verb} at {context.now:g} in {context.conversation}"
                    f" is {decision.effect} {decider}, not {' '.join(answer)}"
                )
    assert not wrong, "\n".join(wrong)
    assert count > 8_000


def test_the_rows_that_say_something_are_explained_by_the_same_decider() -> None:
    said = 0
    for block in TABLE["block"]:
        rules = [rule(number, text) for number, text in enumerate(block.get("rules", ()), 1)]
        grants = [grant(text) for text in block.get("grants", ())]
        for text in block.get("rows", ()):
            for (sender, recipient, verb, context), (effect, decider) in row(text):
                told = explain(rules, grants, PARTIES[sender], PARTIES[recipient], verb, context)
                found = told.decider.id if isinstance(told.decider, Grant) else told.decider and told.decider.name
                assert (told.decision.effect, found or "none") == (effect, decider), f"{block['name']}: {text}"
                said += 1
    assert said > 300
