"""Laws of explanations: they say what is decided, in the order in which it is, and their remedies help."""

from collections.abc import Sequence
from typing import TypeVar

from hypothesis import given
from hypothesis import strategies as st

from bridge.decision import Circumstances, Effect, Party, Verb
from bridge.grant import Grant
from policy.change import Change, Kind
from policy.decide import NO_RULE, Rules
from policy.explain import Explanation, explain
from policy.rules import Rule
from tests.policy.worlds import contexts, parties, some_grants, some_rules, verbs

Question = tuple[Party, Party, Verb, Circumstances]

_Entry = TypeVar("_Entry", Rule, Grant)

questions = st.tuples(parties, parties, verbs, contexts)


def changed(rules: Sequence[Rule], grants: Sequence[Grant], made: Change) -> tuple[list[Rule], list[Grant]]:
    assert made.entry is None or sum(each is made.entry for each in (*rules, *grants)) == 1
    rest = [each for each in rules if each is not made.entry]
    return [*rest, *([made.then] if made.then else [])], [each for each in grants if each is not made.entry]


@given(some_rules, some_grants, questions)
def test_an_explanation_decides_as_the_policy_does_and_names_what_decided(
    rules: list[Rule], grants: list[Grant], question: Question
) -> None:
    told = explain(rules, grants, *question)
    assert told.decision == Rules(rules).granted(grants).decide(*question)
    match told.decider:
        case Rule() as rule:
            assert (rule.name, rule.effect) == (told.decision.rule, told.decision.effect)
        case Grant() as grant:
            assert (grant.id, grant.effect) == (told.decision.grant, told.decision.effect)
        case None:
            assert told.decision.rule == NO_RULE


@given(some_rules, some_grants, questions)
def test_each_that_matches_too_would_decide_if_those_before_it_were_not_there(
    rules: list[Rule], grants: list[Grant], question: Question
) -> None:
    told = explain(rules, grants, *question)
    gone: list[Rule | Grant] = []
    for entry in _deciding(told):
        policy = Rules(_without(rules, gone)).granted(_without(grants, gone))
        name = entry.rule if isinstance(entry, Grant) else entry.name
        assert policy.decide(*question).rule == name
        gone.append(entry)
    assert Rules(_without(rules, gone)).granted(_without(grants, gone)).decide(*question).rule == NO_RULE


def _deciding(told: Explanation) -> list[Rule | Grant]:
    return [*([told.decider] if told.decider else []), *told.others]


def _without(entries: Sequence[_Entry], gone: Sequence[object]) -> list[_Entry]:
    return [each for each in entries if not any(each is one for one in gone)]


@given(some_rules, some_grants, questions)
def test_what_an_explanation_would_change_allows_it_and_nothing_less_does(
    rules: list[Rule], grants: list[Grant], question: Question
) -> None:
    told = explain(rules, grants, *question)
    assert bool(told.changes) == (told.decision.effect is not Effect.ALLOW)
    now_rules, now_grants = rules, grants
    for made in told.changes:
        assert Rules(now_rules).granted(now_grants).decide(*question).effect is not Effect.ALLOW
        now_rules, now_grants = changed(now_rules, now_grants, made)
    assert Rules(now_rules).granted(now_grants).decide(*question).effect is Effect.ALLOW


@given(some_rules, some_grants, questions)
def test_a_rule_for_these_two_alone_does_what_the_wider_change_would(
    rules: list[Rule], grants: list[Grant], question: Question
) -> None:
    for made in explain(rules, grants, *question).changes:
        if made.alone is not None:
            assert made.kind is Kind.ADD_VERB
            assert Rules([made.alone]).decide(*question).effect is Effect.ALLOW
