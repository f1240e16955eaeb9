"""What new rules permit beyond earlier ones, and what two policies permit together."""

from itertools import product
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bridge.decision import Circumstances, Effect, Party, Verb
from bridge.grant import Grant, GrantId, Scope
from bridge.ids import SessionId
from bridge.session import Kind
from policy.decide import Rules
from policy.rules import Rule
from policy.selectors import Selector
from policy.stricter import Stricter
from policy.widening import widened

NOW = Circumstances(1_000.0, None)
RANK = {Effect.DENY: 0, Effect.ASK: 1, Effect.ALLOW: 2}
VERBS = (Verb.SEND, Verb.WAKE)
WORLD = [
    Party(SessionId("default/a"), Kind.CHAT, "p", frozenset({"x"})),
    Party(SessionId("default/b"), Kind.SHELL, None, frozenset()),
    Party(SessionId("work/a"), Kind.CHAT, None, frozenset({"x", "default/b"})),
    Party(SessionId("work/c"), Kind.SHELL, "p", frozenset({"x"})),
]
SELECTORS = ["*", "tag:x", "tag:default/b", "kind:chat", "project:p", "default/*", "work/*", *(one.id for one in WORLD)]
QUESTIONS = list(product(WORLD, WORLD, VERBS))


def one(sender: str, recipient: str, verbs: str = "send", effect: Effect = Effect.ALLOW) -> Rule:
    senders, recipients = [tuple(map(Selector, side.split(","))) for side in (sender, recipient)]
    return Rule(senders, recipients, frozenset(map(Verb, verbs.split(","))), effect, "a rule")


_sides = st.lists(st.sampled_from(SELECTORS).map(Selector), min_size=1, max_size=2).map(tuple)
_rule = st.builds(
    Rule, _sides, _sides, st.frozensets(st.sampled_from(VERBS), min_size=1), st.sampled_from(Effect), st.just("a rule")
)
rules = st.lists(_rule, max_size=4)
grants = st.lists(
    st.builds(
        Grant,
        st.uuids().map(str).map(GrantId),
        st.sampled_from(SELECTORS),
        st.sampled_from(SELECTORS),
        st.just(VERBS),
        st.sampled_from([Effect.ALLOW, Effect.DENY]),
        st.sampled_from([Scope.ALWAYS, Scope.ONCE]),
        st.just("room:1"),
        st.just("room:office"),
        st.just(1.0),
    ),
    max_size=2,
)


@given(rules, rules, grants)
def test_where_nothing_is_widened_nothing_more_is_permitted(
    old: list[Rule], new: list[Rule], given: list[Grant]
) -> None:
    if widened(old, new):
        return
    before, after = Rules(old).granted(given), Rules(new).granted(given)
    for sender, recipient, verb in QUESTIONS:
        asked = sender, recipient, verb, NOW
        assert RANK[after.decide(*asked).effect] <= RANK[before.decide(*asked).effect]
        assert before.denied(*asked) is None or after.denied(*asked) is not None


@given(rules, st.data())
def test_to_allow_less_or_to_deny_more_widens_nothing(old: list[Rule], data: st.DataObject) -> None:
    allows = [each for each in old if each.effect is Effect.ALLOW]
    fewer = data.draw(st.lists(st.sampled_from(allows), unique_by=id)) if allows else []
    denies = data.draw(st.lists(_rule.filter(lambda each: each.effect is Effect.DENY), max_size=2))
    assert widened(old, [each for each in old if each.effect is not Effect.ALLOW] + fewer + denies) == []


@given(rules, rules)
def test_what_was_accepted_holds_in_any_order_and_grouping(old: list[Rule], more: list[Rule]) -> None:
    split = [
        Rule((sender,), (recipient,), frozenset({verb}), each.effect, "another name", 9)
        for each in reversed(old)
        for sender, recipient, verb in product(each.senders, each.recipients, each.verbs)
    ]
    assert widened(old, split) == []
    assert widened(old, [*split, *more]) == widened(old, [*old, *more])


@pytest.mark.parametrize(
    ("old", "new", "lines"),
    [
        ([], [one("default/a", "default/b", "wake,send")], ["allow send, wake: default/a → default/b"]),
        ([], [one("default/a", "default/b", effect=Effect.ASK)], ["ask a person about send: default/a → default/b"]),
        ([one("*", "default/b")], [one("default/a", "default/b")], []),
        ([one("*", "*")], [one("default/*", "work/*")], ["allow send: default/* → work/*"]),
        ([one("default/*", "work/*")], [one("default/a", "work/c")], []),
        ([one("default/a", "default/b")], [one("default/*", "default/b")], ["allow send: default/* → default/b"]),
        ([one("default/a", "default/b")], [one("default/a", "default/b", effect=Effect.ASK)], []),
        (
            [one("default/a", "default/b", effect=Effect.ASK)],
            [one("default/a", "default/b")],
            ["allow send: default/a → default/b", "no longer ask a person about send: default/a → default/b"],
        ),
        ([one("*", "*", effect=Effect.DENY)], [], ["no longer deny send: * → *"]),
        (
            [one("*", "*", effect=Effect.DENY)],
            [one("*", "tag:x", effect=Effect.DENY)],
            ["no longer deny send: * → *"],
        ),
        ([one("*", "tag:x", effect=Effect.DENY)], [one("*", "*", effect=Effect.DENY)], []),
        ([one("*", "tag:x", effect=Effect.ASK)], [], []),
        (
            [one("*", "tag:x", effect=Effect.ASK), one("*", "*")],
            [one("*", "*")],
            ["no longer ask a person about send: * → tag:x"],
        ),
        ([one("*", "default/a", effect=Effect.ASK), one("*", "default/b")], [one("*", "default/b")], []),
    ],
)
def test_what_is_widened_is_told_in_lines(old: list[Rule], new: list[Rule], lines: list[str]) -> None:
    assert widened(old, new) == lines


@given(rules, rules, grants)
def test_two_policies_permit_what_both_do(first: list[Rule], second: list[Rule], given: list[Grant]) -> None:
    one, other = Rules(first).granted(given), Rules(second).granted(given)
    both = Stricter(Rules(first), Rules(second)).granted(given)
    for sender, recipient, verb in QUESTIONS:
        asked = sender, recipient, verb, NOW
        effects = [one.decide(*asked).effect, other.decide(*asked).effect]
        assert both.decide(*asked).effect is min(effects, key=RANK.__getitem__)
        denied = [one.denied(*asked), other.denied(*asked)]
        assert (both.denied(*asked) is None) == (denied == [None, None])
    for viewer in WORLD:
        seen = [{*each.visible(viewer, WORLD, NOW.now)} for each in (one, other, both)]
        assert seen[2] == seen[0] & seen[1]


def test_a_grant_that_one_policy_needs_is_named_though_the_other_does_without() -> None:
    grant = Grant(
        GrantId("g"), "default/a", "default/b", VERBS, Effect.ALLOW, Scope.ONCE, "room:1", "room:office", given_at=1.0
    )
    allows = one("default/a", "default/b")
    for pair in ([[], [allows]], [[allows], []]):
        both = Stricter(*map(Rules, pair)).granted([grant])
        assert both.decide(WORLD[0], WORLD[1], Verb.SEND, NOW).grant == "g"


def test_the_reason_says_that_the_first_policy_is_stricter() -> None:
    both = Stricter(Rules([]), Rules([one("default/a", "default/b")]), because="more waits for an operator")
    assert both.decide(WORLD[0], WORLD[1], Verb.SEND, NOW).reason.endswith("is missing; more waits for an operator")
    assert "waits" not in both.decide(WORLD[1], WORLD[0], Verb.SEND, NOW).reason


def test_thousands_of_rules_at_once_hold_up_nothing() -> None:
    def of(letter: str) -> list[Rule]:
        effects = (Effect.ALLOW, Effect.ASK, Effect.DENY)
        return [one(f"default/{letter}{rank}", "default/*", effect=effects[rank % 3]) for rank in range(3_000)]

    began = process_time()
    assert len(widened(of("a"), of("b"))) == 3_000
    assert process_time() - began < 5
