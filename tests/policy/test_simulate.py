"""Recorded decisions, replayed against other rules."""

from typing import Any

from bridge.decision import Effect, Party, Verb, Verdict
from bridge.errors import Code
from bridge.ids import SessionId
from bridge.message import Origin
from bridge.session import Kind
from policy import as_json, as_text
from policy.rules import Rule
from policy.selectors import selector
from policy.simulate import Apart, Simulation, simulate

DESK, CAREER, BUILD = (Party(SessionId(f"default/{name}"), Kind.CHAT) for name in ("desk", "career", "build"))


def rule(effect: Effect, recipient: str, name: str, *verbs: Verb) -> Rule:
    return Rule((selector("*"),), (selector(recipient),), frozenset(verbs or Verb), effect, name)


ALLOWED = rule(Effect.ALLOW, "*", "all")
DENIED = rule(Effect.DENY, "default/career", "no career")
ASKED = rule(Effect.ASK, "default/build", "careful", Verb.WAKE)


def verdict(**given: Any) -> Verdict:
    values = {
        "id": "v-1",
        "at": 1.0,
        "sender": DESK.id,
        "recipient": CAREER.id,
        "origin": Origin.PEER,
        "verbs": ("ask",),
        "effect": Effect.ALLOW,
        "rule": "all",
        "reason": "",
    }
    return Verdict(**{**values, **given})


def replayed(*recorded: Verdict, now: list[Rule] | None = None, then: list[Rule] | None = None) -> Simulation:
    rules = [ALLOWED] if now is None else now
    return simulate(recorded, [DESK, CAREER, BUILD], rules, [ALLOWED, DENIED, ASKED] if then is None else then)


def told(done: Simulation) -> list[tuple[str, int, str, str, str]]:
    return [
        (
            one.recipient,
            one.count,
            " ".join(one.verbs),
            f"{one.old.effect} {one.old.rule}",
            f"{one.new.effect} {one.new.rule}",
        )
        for one in done.shifts
    ]


def test_what_would_change_is_counted_by_who_what_and_whom() -> None:
    done = replayed(
        verdict(),
        verdict(recipient=BUILD.id, verbs=("ask", "wake")),
        verdict(recipient=BUILD.id, verbs=("ask", "wake")),
        verdict(recipient=BUILD.id),
    )
    assert told(done) == [
        ("default/build", 2, "ask wake", "allow all", "ask careful"),
        ("default/career", 1, "ask", "allow all", "deny no career"),
    ]
    assert (done.changed, done.same, dict(done.apart)) == (3, 1, {})


def test_what_was_refused_by_rules_may_come_to_be_allowed_and_is_found_by_its_handle() -> None:
    refused = verdict(recipient="career", effect=Effect.DENY, rule="no career", code=Code.NOT_PERMITTED)
    done = replayed(refused, now=[ALLOWED, DENIED], then=[ALLOWED])
    assert told(done) == [("default/career", 1, "ask", "deny no career", "allow all")]


def test_what_rules_did_not_decide_is_told_apart() -> None:
    refused = {"effect": Effect.DENY}
    done = replayed(
        verdict(rule="reply:m-1"),
        verdict(rule="limits.pair_messages", code=Code.RATE_LIMITED, **refused),
        verdict(rule="accept_wake", code=Code.WAKE_NOT_PERMITTED, **refused),
        verdict(rule="session_closed", code=Code.SESSION_CLOSED, **refused),
        verdict(rule="unknown_session", code=Code.UNKNOWN_SESSION, **refused),
        verdict(recipient="default/gone"),
        verdict(rule="self_send", code=Code.SELF_SEND, recipient=DESK.id, **refused),
        verdict(rule="person", origin=Origin.USER, recipient=DESK.id, verbs=()),
        verdict(rule="person", origin=Origin.USER, recipient=BUILD.id),
        verdict(rule="grant:g-1", recipient=BUILD.id),
        verdict(rule="grant:g-2", code=Code.NOT_PERMITTED, **refused),
    )
    assert (done.changed, done.same) == (0, 0)
    assert done.apart == {
        Apart.REPLY: 1,
        Apart.LIMIT: 2,
        Apart.CLOSED: 1,
        Apart.UNKNOWN: 2,
        Apart.FORM: 1,
        Apart.PERSON: 2,
        Apart.GRANT: 2,
    }


def test_an_explicit_deny_holds_for_people_and_beats_grants() -> None:
    by_person, by_grant = verdict(rule="person", origin=Origin.USER), verdict(rule="grant:g-1")
    done = replayed(by_person, by_grant)
    assert told(done) == [
        ("default/career", 1, "ask", "allow grant", "deny no career"),
        ("default/career", 1, "ask", "allow person", "deny no career"),
    ]
    assert not replayed(by_person, by_grant, then=[ASKED]).changed, "neither needs a rule"


def test_a_simulation_as_text_and_as_json() -> None:
    done = replayed(verdict(), verdict(), verdict(recipient=BUILD.id), verdict(rule="reply:m-1"))
    assert list(as_text.simulation(done)) == [
        "2 decisions would change, 1 would not",
        "     2  allow -> deny  ask from default/desk to default/career",
        "        all -> no career",
        "no matter of rules:",
        "     1  answers to requests",
    ]
    assert as_json.simulation(done) == {
        "changed": 2,
        "same": 1,
        "apart": {"reply": 1},
        "shifts": [
            {
                "from": "default/desk",
                "to": "default/career",
                "verbs": ["ask"],
                "count": 2,
                "old": {"effect": "allow", "rule": "all"},
                "new": {"effect": "deny", "rule": "no career"},
            }
        ],
    }
