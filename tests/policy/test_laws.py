"""Laws that hold for every set of rules and grants."""

import random
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bridge.decision import Circumstances, Decision, Effect, Party, Verb
from bridge.grant import Grant, Scope
from bridge.ids import profile_of
from policy.decide import Rules
from policy.rules import Rule
from policy.selectors import Selector
from tests.policy.worlds import (
    CONVERSATIONS,
    NAMED,
    WIDE,
    contexts,
    crowds,
    grants_of,
    parties,
    rules_of,
    some_grants,
    some_rules,
    times,
    verbs,
)

GENEROSITY = {Effect.DENY: 0, Effect.ASK: 1, Effect.ALLOW: 2}
Question = tuple[Party, Party, Verb, Circumstances]

questions = st.tuples(parties, parties, verbs, contexts)
EVERYTHING = NAMED + WIDE


def said(rules: Sequence[Rule], grants: Sequence[Grant], question: Question) -> Decision:
    return Rules(rules).granted(grants).decide(*question)


def generosity(rules: Sequence[Rule], grants: Sequence[Grant], question: Question) -> int:
    return GENEROSITY[said(rules, grants, question).effect]


@given(some_rules, some_grants, rules_of(EVERYTHING, Effect.DENY), grants_of(EVERYTHING, Effect.DENY), questions)
def test_one_more_deny_by_rule_or_grant_never_allows_more(
    rules: list[Rule], grants: list[Grant], rule: Rule, grant: Grant, question: Question
) -> None:
    before = generosity(rules, grants, question)
    assert generosity([*rules, rule], grants, question) <= before
    assert generosity(rules, [*grants, grant], question) <= before


@given(some_rules, some_grants, questions)
def test_one_allow_less_never_allows_more(rules: list[Rule], grants: list[Grant], question: Question) -> None:
    before = generosity(rules, grants, question)
    for rule in rules:
        if rule.effect is Effect.ALLOW:
            assert generosity([each for each in rules if each is not rule], grants, question) <= before
    for grant in grants:
        if grant.effect is Effect.ALLOW:
            assert generosity(rules, [each for each in grants if each is not grant], question) <= before


@given(some_rules, some_grants, st.randoms(use_true_random=False), questions)
def test_the_order_of_rules_and_grants_does_not_matter(
    rules: list[Rule], grants: list[Grant], order: random.Random, question: Question
) -> None:
    shuffled = order.sample(rules, len(rules)), order.sample(grants, len(grants))
    assert said(*shuffled, question) == said(rules, grants, question)


@given(some_rules, some_grants, questions)
def test_a_decision_is_what_reading_the_rules_and_grants_one_by_one_says(
    rules: list[Rule], grants: list[Grant], question: Question
) -> None:
    a, b, verb, _ = question
    ruled = [each.effect for each in rules if verb in each.verbs and _matches(each.senders, each.recipients, a, b)]
    granted = [each for each in grants if _holds(each, *question)]
    denied = Effect.DENY in ruled or any(each.effect is Effect.DENY for each in granted)
    if granted and not denied:
        expected = Effect.ALLOW
    else:
        expected = Effect.DENY if denied else min(ruled, key=GENEROSITY.__getitem__, default=Effect.DENY)
    decision = said(rules, grants, question)
    assert decision.effect is expected
    assert (Rules(rules).granted(grants).denied(*question) is not None) == denied
    if decision.grant is not None:
        decider = next(each for each in granted if each.id == decision.grant)
        assert (decider.effect, decider.rule) == (expected, decision.rule)
        if decider.scope is Scope.ONCE and expected is Effect.ALLOW:
            assert Effect.ALLOW not in ruled or Effect.ASK in ruled, "a rule allows it already"
            assert all(each.scope is Scope.ONCE for each in granted), "what lasts allows it already"


def _holds(grant: Grant, a: Party, b: Party, verb: Verb, context: Circumstances) -> bool:
    bound = grant.conversation is not None or grant.scope is Scope.CONVERSATION
    return (
        verb in grant.verbs
        and grant.live(context.now)
        and (not bound or (grant.conversation is not None and grant.conversation == context.conversation))
        and _matches((Selector(grant.sender),), (Selector(grant.recipient),), a, b)
    )


def _matches(senders: tuple[Selector, ...], recipients: tuple[Selector, ...], a: Party, b: Party) -> bool:
    wide = profile_of(a.id) == profile_of(b.id)
    return _names(senders, a, wide) and _names(recipients, b, wide)


def _names(selectors: tuple[Selector, ...], party: Party, wide: bool) -> bool:
    named = {party.id, profile_of(party.id) + "/*"}
    labels = {"*", f"kind:{party.kind}", f"project:{party.project}", *(f"tag:{tag}" for tag in party.tags)}
    return any(each in named or (wide and each in labels) for each in selectors)


@given(
    st.lists(rules_of(WIDE), max_size=8),
    rules_of(NAMED),
    st.lists(grants_of(WIDE), max_size=5),
    grants_of(NAMED),
    questions,
)
def test_nothing_crosses_profiles_unless_both_sides_are_named(
    rules: list[Rule], named: Rule, grants: list[Grant], given_to: Grant, question: Question
) -> None:
    every = Selector("*")
    half_named = [
        Rule(named.senders, (every,), named.verbs, Effect.ALLOW, "half"),
        Rule((every,), named.recipients, named.verbs, Effect.ALLOW, "other half"),
    ]
    half_given = [replace(given_to, sender="*"), replace(given_to, recipient="*")]
    a, b, _, context = question
    if profile_of(a.id) != profile_of(b.id):
        policy = Rules([*rules, *half_named]).granted([*grants, *half_given])
        assert policy.decide(*question).rule == "no-rule"
        assert b.id not in policy.visible(a, [a, b], context.now)


@given(some_rules, some_grants, questions, crowds)
def test_a_grant_that_has_ended_is_used_up_or_was_revoked_is_as_if_it_were_not_there(
    rules: list[Rule], grants: list[Grant], question: Question, others: list[Party]
) -> None:
    viewer, _, _, context = question
    living = [each for each in grants if each.live(context.now)]
    assert said(rules, grants, question) == said(rules, living, question)
    seen, seen_by_living = (
        Rules(rules).granted(each).visible(viewer, others, context.now) for each in (grants, living)
    )
    assert seen == seen_by_living


@given(some_rules, some_grants, parties, crowds, times)
def test_one_sees_those_with_whom_any_verb_is_possible_in_either_direction_in_some_conversation(
    rules: list[Rule], grants: list[Grant], viewer: Party, others: list[Party], now: float
) -> None:
    policy = Rules(rules).granted(grants)
    expected = {
        other.id
        for other in others
        if other.id != viewer.id
        and any(
            policy.decide(one, two, verb, Circumstances(now, conversation)).effect is not Effect.DENY
            for one, two in ((viewer, other), (other, viewer))
            for verb in Verb
            for conversation in CONVERSATIONS
        )
    }
    assert set(policy.visible(viewer, others, now)) == expected


@given(some_rules, some_grants, some_grants, questions)
def test_other_grants_take_the_place_of_earlier_ones_and_change_nothing_that_was_made(
    rules: list[Rule], grants: list[Grant], later: list[Grant], question: Question
) -> None:
    policy = Rules(rules)
    before = policy.decide(*question)
    granted = policy.granted(grants)
    with_grants = granted.decide(*question)
    assert granted.granted(later).decide(*question) == said(rules, later, question)
    assert granted.granted([]).decide(*question) == policy.decide(*question) == before
    assert granted.decide(*question) == with_grants
