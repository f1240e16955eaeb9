"""What the policy says: the meaning of selectors, verbs and effects, as tables."""

import pytest

from bridge.decision import Circumstances, Decision, Effect, Party, Verb
from bridge.ids import SessionId
from bridge.ports.policy import Policy
from bridge.session import Kind
from policy.decide import NO_RULE, Rules
from policy.rules import Rule
from policy.selectors import selector

NOW = Circumstances(1_000.0, None)

ALLOW, ASK, DENY = Effect.ALLOW, Effect.ASK, Effect.DENY

DESK = Party(SessionId("default/desk"), Kind.CHAT, "home", frozenset({"office"}))
CAREER = Party(SessionId("default/career"), Kind.CHAT, None, frozenset({"office", "people"}))
BUILD = Party(SessionId("default/build"), Kind.SHELL, "home")
OTHER_DESK = Party(SessionId("work/desk"), Kind.CHAT, "home", frozenset({"office"}))


def rule(
    senders: str, recipients: str, effect: Effect = ALLOW, verbs: str = "send", name: str = "", line: int = 0
) -> Rule:
    return Rule(
        tuple(selector(each) for each in senders.split()),
        tuple(selector(each) for each in recipients.split()),
        frozenset(Verb(verb) for verb in verbs.split()),
        effect,
        name or f"{senders} {effect} {verbs} {recipients}",
        line or None,
    )


def decide(rules: list[Rule], sender: Party = DESK, recipient: Party = CAREER, verb: Verb = Verb.SEND) -> Decision:
    policy: Policy = Rules(rules)
    return policy.decide(sender, recipient, verb, NOW)


@pytest.mark.parametrize(
    ("senders", "recipients", "sender", "recipient", "matches"),
    [
        ("default/desk", "default/career", DESK, CAREER, True),
        ("default/desk", "default/career", CAREER, DESK, False),
        ("default/build default/desk", "default/build default/career", DESK, CAREER, True),
        ("default/*", "default/*", DESK, CAREER, True),
        ("*", "*", DESK, CAREER, True),
        ("*", "default/career", DESK, CAREER, True),
        ("tag:office", "tag:people", DESK, CAREER, True),
        ("tag:office", "tag:people", CAREER, DESK, False),
        ("kind:chat", "kind:shell", DESK, BUILD, True),
        ("kind:chat", "kind:shell", DESK, CAREER, False),
        ("project:home", "project:home", DESK, BUILD, True),
        ("project:home", "project:home", DESK, CAREER, False),
        ("default/desk", "work/desk", DESK, OTHER_DESK, True),
        ("default/*", "work/*", DESK, OTHER_DESK, True),
        ("default/*", "work/desk", DESK, OTHER_DESK, True),
        ("default/*", "work/*", OTHER_DESK, DESK, False),
        ("*", "*", DESK, OTHER_DESK, False),
        ("*", "work/desk", DESK, OTHER_DESK, False),
        ("default/desk", "*", DESK, OTHER_DESK, False),
        ("tag:office", "tag:office", DESK, OTHER_DESK, False),
        ("kind:chat", "work/*", DESK, OTHER_DESK, False),
        ("default/desk", "project:home", DESK, OTHER_DESK, False),
    ],
)
@pytest.mark.parametrize("effect", Effect)
def test_selectors_match_what_they_name_and_only_names_cross_profiles(
    effect: Effect, senders: str, recipients: str, sender: Party, recipient: Party, matches: bool
) -> None:
    the_rule = rule(senders, recipients, effect)
    decision = decide([the_rule], sender, recipient)
    assert decision.rule == (the_rule.name if matches else NO_RULE)
    assert decision.effect is (effect if matches else DENY)


@pytest.mark.parametrize(
    ("effects", "expected"),
    [
        ([], DENY),
        ([ALLOW], ALLOW),
        ([ASK], ASK),
        ([DENY], DENY),
        ([ALLOW, ASK], ASK),
        ([ALLOW, DENY], DENY),
        ([ASK, DENY], DENY),
        ([ALLOW, ASK, DENY], DENY),
    ],
)
def test_deny_beats_ask_beats_allow_and_nothing_is_deny(effects: list[Effect], expected: Effect) -> None:
    assert decide([rule("default/desk", "*", effect) for effect in effects]).effect is expected


@pytest.mark.parametrize("given", Verb)
@pytest.mark.parametrize("wanted", Verb)
def test_a_verb_never_implies_another(given: Verb, wanted: Verb) -> None:
    expected = ALLOW if given is wanted else DENY
    assert decide([rule("*", "*", verbs=given)], verb=wanted).effect is expected


def test_a_decision_names_the_rule_that_decided_and_says_so_in_words() -> None:
    denying = rule("*", "tag:people", DENY, name="policy.rules[1] (tieline.toml:58)", line=58)
    decision = decide([rule("*", "*"), denying, rule("*", "*", DENY, name="policy.rules[2]", line=60)])
    assert decision == Decision(
        DENY,
        "policy.rules[1] (tieline.toml:58)",
        "policy.rules[1] (tieline.toml:58) denies send from default/desk to default/career",
    )


def test_without_a_rule_the_reason_names_the_one_that_is_missing() -> None:
    decision = decide([], DESK, OTHER_DESK, Verb.WAKE)
    assert decision.rule == "no-rule"
    assert 'from = "default/desk", to = "work/desk", verbs = ["wake"]' in decision.reason


def test_an_explicit_deny_is_told_apart_from_nothing_matched() -> None:
    policy: Policy = Rules([rule("*", "default/career", DENY), rule("*", "*", ALLOW)])
    denied = policy.denied(DESK, CAREER, Verb.SEND, NOW)
    assert denied is not None
    assert denied.effect is DENY
    assert policy.denied(DESK, BUILD, Verb.SEND, NOW) is None
    assert policy.denied(DESK, CAREER, Verb.ASK, NOW) is None
