"""Laws that hold for every set of rules and grants."""

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from bridge.decision import Circumstances, Decision, Effect, Party, Verb
from bridge.grant import Grant, Scope
from bridge.ids import profile_of
from policy.decide import NO_RULE, Rules
from policy.rules import Rule
from policy.selectors import Selector
from tests.policy.worlds import (
    CONVERSATIONS,
    NAMED,
    WIDE,
    Question,
    Questions,
    close_grants,
    close_rules,
    every_party,
    every_question,
    grants_of,
    rules_of,
    some_grants,
    some_rules,
    times,
)

GENEROSITY = {Effect.DENY: 0, Effect.ASK: 1, Effect.ALLOW: 2}
EVERYTHING = NAMED + WIDE


def policy_of(rules: Sequence[Rule], grants: Sequence[Grant]) -> Rules:
    return Rules(rules).granted(grants)


def said(policy: Rules, questions: Questions) -> list[Decision]:
    return [policy.decide(*question) for question in questions]


def generosity(policy: Rules, questions: Questions) -> list[int]:
    return [GENEROSITY[one.effect] for one in said(policy, questions)]


def no_more(after: list[int], before: list[int]) -> bool:
    return all(one <= other for one, other in zip(after, before, strict=True))


@given(some_rules, some_grants, rules_of(EVERYTHING, Effect.DENY), grants_of(EVERYTHING, Effect.DENY), every_question)
def test_one_more_deny_by_rule_or_grant_never_allows_more(
    rules: list[Rule], grants: list[Grant], rule: Rule, grant: Grant, questions: Questions
) -> None:
    before = generosity(policy_of(rules, grants), questions)
    assert no_more(generosity(policy_of([*rules, rule], grants), questions), before)
    assert no_more(generosity(policy_of(rules, [*grants, grant]), questions), before)


@given(some_rules | close_rules, some_grants | close_grants, every_question)
def test_one_allow_less_never_allows_more(rules: list[Rule], grants: list[Grant], questions: Questions) -> None:
    before = generosity(policy_of(rules, grants), questions)
    for rule in rules:
        if rule.effect is Effect.ALLOW:
            fewer = [each for each in rules if each is not rule]
            assert no_more(generosity(policy_of(fewer, grants), questions), before)
    for grant in grants:
        if grant.effect is Effect.ALLOW:
            given_less = [each for each in grants if each is not grant]
            assert no_more(generosity(policy_of(rules, given_less), questions), before)


@given(some_rules, some_grants, st.randoms(use_true_random=False), every_question)
def test_the_order_of_rules_and_grants_does_not_matter(
    rules: list[Rule], grants: list[Grant], order: random.Random, questions: Questions
) -> None:
    shuffled = policy_of(order.sample(rules, len(rules)), order.sample(grants, len(grants)))
    assert said(shuffled, questions) == said(policy_of(rules, grants), questions)


@given(some_rules | close_rules, some_grants | close_grants, every_question)
def test_a_decision_is_what_reading_the_rules_and_grants_one_by_one_says(
    rules: list[Rule], grants: list[Grant], questions: Questions
) -> None:
    policy = policy_of(rules, grants)
    for question in questions:
        _reads_as_one_by_one(policy, rules, grants, question)


def _reads_as_one_by_one(policy: Rules, rules: list[Rule], grants: list[Grant], question: Question) -> None:
    a, b, verb, _ = question
    ruled = [each.effect for each in rules if verb in each.verbs and _matches(each.senders, each.recipients, a, b)]
    granted = [each for each in grants if _holds(each, *question)]
    denied = Effect.DENY in ruled or any(each.effect is Effect.DENY for each in granted)
    if granted and not denied:
        expected = Effect.ALLOW
    else:
        expected = Effect.DENY if denied else min(ruled, key=GENEROSITY.__getitem__, default=Effect.DENY)
    decision = policy.decide(*question)
    assert decision.effect is expected
    assert policy.denied(*question) == (decision if denied else None)
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
    every_question,
)
def test_nothing_crosses_profiles_unless_both_sides_are_named(
    rules: list[Rule], named: Rule, grants: list[Grant], given_to: Grant, questions: Questions
) -> None:
    half_named = [
        rule
        for wide in map(Selector, WIDE)
        for rule in (
            Rule(named.senders, (wide,), frozenset(Verb), Effect.ALLOW, "half"),
            Rule((wide,), named.recipients, frozenset(Verb), Effect.ALLOW, "other half"),
        )
    ]
    lasting = replace(
        given_to,
        verbs=tuple(Verb),
        expires_at=None,
        used_at=None,
        revoked_at=None,
        conversation=None,
        scope=Scope.ALWAYS,
    )
    half_given = [grant for wide in WIDE for grant in (replace(lasting, sender=wide), replace(lasting, recipient=wide))]
    policy = policy_of([*rules, *half_named], [*grants, *half_given])
    crossing = [one for one in questions if profile_of(one[0].id) != profile_of(one[1].id)]
    assert {one.rule for one in said(policy, crossing)} == {NO_RULE}
    for a, b, _, context in crossing:
        assert b.id not in policy.visible(a, [a, b], context.now)


@given(some_rules | close_rules, some_grants | close_grants, every_question)
def test_a_grant_that_has_ended_is_used_up_or_was_revoked_is_as_if_it_were_not_there(
    rules: list[Rule], grants: list[Grant], questions: Questions
) -> None:
    now = questions[0][3].now
    policy = policy_of(rules, grants)
    without = policy_of(rules, [each for each in grants if each.live(now)])
    assert said(policy, questions) == said(without, questions)
    everybody = list(dict.fromkeys(question[0] for question in questions))
    for viewer in everybody:
        assert policy.visible(viewer, everybody, now) == without.visible(viewer, everybody, now)


@given(some_rules | close_rules, some_grants | close_grants, every_party, times)
def test_one_sees_those_with_whom_any_verb_is_possible_in_either_direction_in_some_conversation(
    rules: list[Rule], grants: list[Grant], everybody: Sequence[Party], now: float
) -> None:
    policy = policy_of(rules, grants)
    possible = {
        (one.id, two.id)
        for one, two in permutations(everybody, 2)
        if any(
            policy.decide(one, two, verb, Circumstances(now, conversation)).effect is not Effect.DENY
            for verb in Verb
            for conversation in CONVERSATIONS
        )
    }
    for viewer in everybody:
        others = {other.id for other in everybody if {(viewer.id, other.id), (other.id, viewer.id)} & possible}
        assert set(policy.visible(viewer, everybody, now)) == others


@given(some_rules, some_grants, some_grants, every_question)
def test_other_grants_take_the_place_of_earlier_ones_and_change_nothing_that_was_made(
    rules: list[Rule], grants: list[Grant], later: list[Grant], questions: Questions
) -> None:
    policy = Rules(rules)
    before = said(policy, questions)
    granted = policy.granted(grants)
    with_grants = said(granted, questions)
    assert said(granted.granted(later), questions) == said(policy_of(rules, later), questions)
    assert said(granted.granted([]), questions) == said(policy, questions) == before
    assert said(granted, questions) == with_grants
