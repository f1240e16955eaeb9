"""The decision table of `table.toml`, row by row. `worlds` has the same for what nobody thought of."""

import re
import tomllib
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

from bridge.decision import Circumstances, Effect, Party, Verb
from bridge.grant import Grant, Scope
from bridge.ids import ConversationId, SessionId, profile_of
from bridge.session import Kind
from policy.decide import NO_RULE, Rules
from policy.explain import explain
from tests.policy.notation import grant, read, rule, settings, verbs

TABLE = tomllib.loads(Path(__file__).with_name("table.toml").read_text(encoding="utf-8"))
PARTIES = {
    name: Party(SessionId(one["id"]), Kind(one["kind"]), one.get("project"), frozenset(one.get("tags", ())))
    for name, one in TABLE["parties"].items()
}
USUAL = Circumstances(100.0, None)

_ROW = re.compile(
    r"(?P<senders>[\w -]+) -> (?P<recipients>[\w -]+): (?P<verbs>[\w ]+?)(?: \|(?P<rest>(?: \w+=\S+)+))?"
    r" = (?P<effect>\w+) (?P<decider>\w+)"
)

Question = tuple[str, str, Verb, Circumstances]
Answer = tuple[Effect, str]


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
            denied = policy.denied(PARTIES[sender], PARTIES[recipient], verb, context)
            assert denied == (decision if answer[0] is Effect.DENY and decider != "none" else None), block["name"]
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


FORMS = {"id", "profile", "tag", "kind", "project", "*"}


def form(text: str) -> str:
    if "/" in text:
        return "profile" if text.endswith("/*") else "id"
    return text.partition(":")[0]


def test_the_table_has_every_verb_selector_effect_and_scope_within_a_profile_and_across() -> None:
    rules = [rule(1, text) for block in TABLE["block"] for text in block.get("rules", ())]
    grants = [grant(text) for block in TABLE["block"] for text in block.get("grants", ())]
    assert {(verb, one.effect) for one in rules for verb in one.verbs} == set(product(Verb, Effect))
    assert {(form(each), one.effect) for one in rules for each in one.senders} == set(product(FORMS, Effect))
    assert {(form(each), one.effect) for one in rules for each in one.recipients} == set(product(FORMS, Effect))
    assert {verb for one in grants for verb in one.verbs} == set(Verb)
    assert {(one.scope, one.effect) for one in grants} == set(product(Scope, (Effect.ALLOW, Effect.DENY)))
    assert {form(text) for one in grants for text in (one.sender, one.recipient)} == FORMS
    said = [one for block in TABLE["block"] for text in block.get("rows", ()) for one in row(text)]
    decided = {
        (profile_of(PARTIES[sender].id) == profile_of(PARTIES[recipient].id), effect)
        for (sender, recipient, _, _), (effect, decider) in said
        if decider != "none"
    }
    assert decided == set(product((True, False), Effect))
