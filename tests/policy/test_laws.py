"""Laws that hold for every set of rules."""

import random

from hypothesis import given
from hypothesis import strategies as st

from bridge.decision import Circumstances, Effect, Party, Verb
from bridge.ids import SessionId, profile_of
from bridge.session import Kind
from policy.decide import Rules
from policy.rules import Rule
from policy.selectors import Selector

NOW = Circumstances(1_000.0, None)
PROFILES = ("default", "work")
HANDLES = ("a", "b")
IDS = [f"{profile}/{handle}" for profile in PROFILES for handle in HANDLES]
WIDE = ["*", "tag:x", "tag:y", "kind:chat", "kind:shell", "project:p"]
NAMED = [*IDS, *(f"{profile}/*" for profile in PROFILES)]
GENEROSITY = {Effect.DENY: 0, Effect.ASK: 1, Effect.ALLOW: 2}

parties = st.builds(
    Party,
    st.sampled_from(IDS).map(SessionId),
    st.sampled_from([Kind.CHAT, Kind.SHELL]),
    st.sampled_from([None, "p"]),
    st.frozensets(st.sampled_from(["x", "y"])),
)
verbs = st.sampled_from(Verb)
effects = st.sampled_from(Effect)


def rules_of(selectors: list[str], effect: st.SearchStrategy[Effect] = effects) -> st.SearchStrategy[Rule]:
    sides = st.lists(st.sampled_from(selectors).map(Selector), min_size=1, max_size=2).map(tuple)
    lines = st.integers(1, 10_000)
    return st.builds(
        lambda senders, recipients, of, what, line: Rule(senders, recipients, of, what, f"line {line}", line),
        sides,
        sides,
        st.frozensets(verbs, min_size=1, max_size=3),
        effect,
        lines,
    )


rule = rules_of(NAMED + WIDE)
some_rules = st.lists(rule, max_size=8, unique_by=lambda each: each.line)


@given(some_rules, rules_of(NAMED + WIDE, st.just(Effect.DENY)), parties, parties, verbs)
def test_one_more_deny_never_allows_more(rules: list[Rule], deny: Rule, a: Party, b: Party, verb: Verb) -> None:
    before = Rules(rules).decide(a, b, verb, NOW).effect
    after = Rules([*rules, deny]).decide(a, b, verb, NOW).effect
    assert GENEROSITY[after] <= GENEROSITY[before]


@given(some_rules, st.data(), parties, parties, verbs)
def test_one_allow_less_never_allows_more(
    rules: list[Rule], data: st.DataObject, a: Party, b: Party, verb: Verb
) -> None:
    allows = [each for each in rules if each.effect is Effect.ALLOW]
    gone = data.draw(st.sampled_from(allows)) if allows else None
    before = Rules(rules).decide(a, b, verb, NOW).effect
    after = Rules([each for each in rules if each is not gone]).decide(a, b, verb, NOW).effect
    assert GENEROSITY[after] <= GENEROSITY[before]


@given(some_rules, st.randoms(use_true_random=False), parties, parties, verbs)
def test_the_order_of_rules_does_not_matter(
    rules: list[Rule], order: random.Random, a: Party, b: Party, verb: Verb
) -> None:
    shuffled = order.sample(rules, len(rules))
    assert Rules(shuffled).decide(a, b, verb, NOW) == Rules(rules).decide(a, b, verb, NOW)


@given(st.lists(rule, max_size=8), parties, parties, verbs)
def test_a_decision_is_what_reading_the_rules_one_by_one_says(
    rules: list[Rule], a: Party, b: Party, verb: Verb
) -> None:
    matching = [each.effect for each in rules if verb in each.verbs and _matches(each, a, b)]
    assert Rules(rules).decide(a, b, verb, NOW).effect is min(matching, key=GENEROSITY.__getitem__, default=Effect.DENY)
    assert (Rules(rules).denied(a, b, verb, NOW) is not None) == (Effect.DENY in matching)


def _matches(each: Rule, a: Party, b: Party) -> bool:
    wide = profile_of(a.id) == profile_of(b.id)
    return _names(each.senders, a, wide) and _names(each.recipients, b, wide)


def _names(selectors: tuple[Selector, ...], party: Party, wide: bool) -> bool:
    named = {party.id, profile_of(party.id) + "/*"}
    labels = {"*", f"kind:{party.kind}", f"project:{party.project}", *(f"tag:{tag}" for tag in party.tags)}
    return any(each in named or (wide and each in labels) for each in selectors)


@given(st.lists(rules_of(WIDE), max_size=8), rules_of(NAMED), parties, parties, verbs)
def test_nothing_crosses_profiles_unless_both_sides_are_named(
    rules: list[Rule], named: Rule, a: Party, b: Party, verb: Verb
) -> None:
    half_named = [
        Rule(named.senders, (Selector("*"),), named.verbs, Effect.ALLOW, "half"),
        Rule((Selector("*"),), named.recipients, named.verbs, Effect.ALLOW, "other half"),
    ]
    if profile_of(a.id) != profile_of(b.id):
        policy = Rules([*rules, *half_named])
        assert policy.decide(a, b, verb, NOW).rule == "no-rule"
        assert b.id not in policy.visible(a, [a, b], NOW.now)


@given(some_rules, parties, st.lists(parties, max_size=20, unique_by=lambda each: each.id))
def test_one_sees_those_with_whom_any_verb_is_possible_in_either_direction(
    rules: list[Rule], viewer: Party, others: list[Party]
) -> None:
    policy = Rules(rules)
    expected = {
        other.id
        for other in others
        if other.id != viewer.id
        and any(
            policy.decide(one, two, verb, NOW).effect is not Effect.DENY
            for one, two in ((viewer, other), (other, viewer))
            for verb in Verb
        )
    }
    assert set(policy.visible(viewer, others, NOW.now)) == expected
