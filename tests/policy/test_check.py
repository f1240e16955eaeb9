"""The check of rules finds what is dead, says why, and never calls dead what decides anything."""

import time
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given

from bridge.decision import Circumstances, Effect, Party, Verb
from bridge.ids import SessionId
from bridge.session import Kind
from policy.check import Finding, Level, Trouble, check
from policy.decide import Rules
from policy.rules import Rule
from policy.selectors import Selector, selector
from tests.policy.worlds import crowds, some_rules

NOW = Circumstances(1_000.0, None)
DEAD = {Trouble.NEVER_MATCHES, Trouble.SHADOWED}

SESSIONS = [
    Party(SessionId("default/desk"), Kind.CHAT, "home", frozenset({"office"})),
    Party(SessionId("default/career"), Kind.CHAT, None, frozenset({"office", "people"})),
    Party(SessionId("default/build"), Kind.SHELL, "home"),
    Party(SessionId("work/desk"), Kind.CHAT, "lab", frozenset({"lab"})),
]


def rules(*texts: str) -> list[Rule]:
    """Each is `effect senders -> recipients: verbs`, at the lines 10, 20 and so on."""
    made = []
    for number, text in enumerate(texts):
        effect, senders, _, recipients, verbs = text.split(maxsplit=4)
        made.append(
            Rule(
                tuple(map(selector, senders.split(","))),
                tuple(map(selector, recipients.rstrip(":").split(","))),
                frozenset(map(Verb, verbs.split())),
                Effect(effect),
                f"rules[{number}]",
                10 * (number + 1),
            )
        )
    return made


def found(*texts: str) -> list[Finding]:
    return check(rules(*texts), SESSIONS)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("allow default/dask -> *: send", '"from" has default/dask, which no session is'),
        ("allow * -> default/dask: send", '"to" has default/dask, which no session is'),
        (
            "deny lab/* -> lab/one: send",
            '"from" has lab/*, a profile without sessions; "to" has lab/one, which no session is',
        ),
        (
            "allow tag:offfice,default/x -> *: send",
            '"from" has tag:offfice, a tag that no session has; "from" has default/x',
        ),
        ("ask project:zoo -> *: send", '"from" has project:zoo, a project that no session has'),
        ("ask * -> kind:cron: send", '"to" has kind:cron, a kind that no session has'),
        ("allow default/desk -> default/desk: send", "both its sides are the same session"),
        ("allow kind:shell -> kind:shell: send", "both its sides are the same session"),
        ("allow tag:lab -> tag:office: send", "the sessions of its two sides are of different profiles"),
        ("allow default/* -> tag:lab: send", "the sessions of its two sides are of different profiles"),
        ("allow * -> project:lab: send", "the sessions of its two sides are of different profiles"),
    ],
)
def test_a_rule_that_can_never_match_is_an_error_that_says_why(text: str, why: str) -> None:
    (finding,) = found(text)
    assert (finding.level, finding.trouble) == (Level.ERROR, Trouble.NEVER_MATCHES)
    assert why in finding.text
    assert finding.remedy


def test_a_name_that_is_nearly_right_is_set_right() -> None:
    (finding,) = found("allow default/carer -> default/desk: send")
    assert finding.remedy == "Did you mean default/career? Correct it, or declare the session."


@pytest.mark.parametrize(
    ("text", "level", "trouble", "told"),
    [
        (
            "allow default/desk,default/gone -> default/career: send",
            Level.ERROR,
            Trouble.UNKNOWN_SESSION,
            'has default/gone in "from", which no session is',
        ),
        (
            "allow default/desk -> tag:none,default/career: send",
            Level.WARNING,
            Trouble.UNUSED_SELECTOR,
            'has tag:none in "to", a tag that no session has',
        ),
        (
            "allow default/desk -> default/career,tag:lab: send",
            Level.WARNING,
            Trouble.UNUSED_SELECTOR,
            'has tag:lab in "to", which meets the other side only in another profile, where it does not match',
        ),
        (
            "allow default/desk,default/build -> default/desk: send",
            Level.WARNING,
            Trouble.UNUSED_SELECTOR,
            'has default/desk in "from", which would send only to itself there',
        ),
    ],
)
def test_a_selector_that_adds_nothing_is_told(text: str, level: Level, trouble: Trouble, told: str) -> None:
    (finding,) = found(text)
    assert (finding.level, finding.trouble, finding.text) == (level, trouble, told)


@pytest.mark.parametrize(
    ("texts", "told", "remedy"),
    [
        (
            ["deny * -> *: send", "allow default/desk -> default/career: send"],
            "never decides: all that it matches is denied by rules[0]",
            "Remove it: nothing changes. If it is meant, narrow rules[0].",
        ),
        (
            ["ask default/* -> tag:people: send ask", "allow default/desk -> default/career: ask"],
            "never decides: all that it matches is asked about by rules[0]",
            "Remove it: nothing changes. If it is meant, narrow rules[0].",
        ),
        (
            ["allow kind:chat -> kind:chat: send", "allow default/desk -> default/career: send"],
            "never decides: all that it matches is allowed by rules[0]",
            "Remove it: nothing changes.",
        ),
        (
            [
                "deny default/desk -> tag:people: send",
                "ask default/desk -> kind:shell: send",
                "allow default/desk -> default/*: send",
            ],
            "never decides: all that it matches is asked about or denied by rules[0], rules[1]",
            "Remove it: nothing changes. If it is meant, narrow rules[0], rules[1].",
        ),
    ],
)
def test_a_rule_that_others_leave_nothing_to_is_a_warning(texts: list[str], told: str, remedy: str) -> None:
    (finding,) = found(*texts)
    assert (finding.level, finding.trouble) == (Level.WARNING, Trouble.SHADOWED)
    assert (finding.rule.name, finding.text, finding.remedy) == (f"rules[{len(texts) - 1}]", told, remedy)
    assert [one.name for one in finding.by] == [f"rules[{number}]" for number in range(len(texts) - 1)]


@pytest.mark.parametrize(
    "texts",
    [
        [],
        ["allow * -> *: send"],
        ["deny * -> *: send", "allow default/* -> work/*: send"],
        ["deny default/desk -> default/career: send", "allow default/desk -> default/career: send ask"],
        ["allow default/desk -> default/career: send", "allow default/desk -> tag:people,default/build: send"],
        ["ask * -> default/career: send", "deny default/desk -> default/career: send"],
    ],
)
def test_a_rule_to_which_anything_is_left_is_fine(texts: list[str]) -> None:
    assert found(*texts) == []


@given(some_rules, crowds)
def test_what_is_called_dead_decides_nothing_and_nothing_else_is_dead(every: list[Rule], sessions: list[Party]) -> None:
    dead = {finding.rule.name for finding in check(every, sessions) if finding.trouble in DEAD}
    policy, alive = Rules(every), Rules(rule for rule in every if rule.name not in dead)
    deciders = set()
    for one, other, verb in product(sessions, sessions, Verb):
        if one.id != other.id:
            decision = policy.decide(one, other, verb, NOW)
            assert alive.decide(one, other, verb, NOW) == decision
            deciders.add(decision.rule)
    assert {rule.name for rule in every} - deciders == dead


@given(some_rules, crowds)
def test_without_a_selector_that_is_called_unused_a_rule_matches_the_same(
    every: list[Rule], sessions: list[Party]
) -> None:
    for finding in check(every, sessions):
        if finding.trouble in (Trouble.UNUSED_SELECTOR, Trouble.UNKNOWN_SESSION):
            rule, (_, named, _, side, *_) = finding.rule, finding.text.replace(",", "").replace('"', "").split()
            gone = Selector(named)
            if side == "from":
                without = replace(rule, senders=tuple(each for each in rule.senders if each != gone))
            else:
                without = replace(rule, recipients=tuple(each for each in rule.recipients if each != gone))
            for one, other in product(sessions, sessions):
                if one.id != other.id:
                    verb = min(rule.verbs)
                    assert Rules([rule]).decide(one, other, verb, NOW) == Rules([without]).decide(one, other, verb, NOW)


def test_ten_thousand_sessions_are_checked_without_a_look_at_each_pair() -> None:
    sessions = [
        Party(SessionId(f"default/s{number}"), Kind.CHAT, f"p{number % 50}", frozenset({f"t{number % 40}"}))
        for number in range(10_000)
    ]
    many = rules(
        *(f"allow default/s{number} -> tag:t{number % 40}: send ask" for number in range(300)),
        *(f"ask project:p{number % 50} -> default/s{number}: send" for number in range(300)),
        *(f"deny tag:t{number % 40} -> project:p{number % 50}: wake" for number in range(200)),
        "deny * -> *: spawn",
        "allow tag:t1 -> tag:t2: spawn",
    )
    began = time.process_time()
    dead = [finding.rule.name for finding in check(many, sessions) if finding.trouble in DEAD]
    assert time.process_time() - began < 20, "each pair was looked at"
    assert dead[-1] == "rules[801]"
