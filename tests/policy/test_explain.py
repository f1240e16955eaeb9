"""Explanations in words and as JSON, where grants have a say. `rules/office.txt` shows those of a whole file."""

from dataclasses import replace

from bridge.decision import Circumstances, Effect, Party, Verb
from bridge.grant import Grant, GrantId, Scope
from bridge.ids import ConversationId, SessionId
from bridge.session import Kind
from policy import as_json, as_text
from policy.change import written
from policy.explain import Explanation, explain
from policy.rules import Rule
from policy.selectors import selector

NOW = Circumstances(100.0, ConversationId("c-1"))
DESK, CAREER = (Party(SessionId(f"default/{name}"), Kind.CHAT) for name in ("desk", "career"))


def grant(ident: str, effect: Effect = Effect.ALLOW, scope: Scope = Scope.PAIR) -> Grant:
    return Grant(GrantId(ident), DESK.id, CAREER.id, (Verb.SEND, Verb.ASK), effect, scope, "ada", "telegram", 50.0)


def rule(senders: str, recipients: str, effect: Effect, verbs: str, name: str) -> Rule:
    one, other = (tuple(map(selector, side.split(","))) for side in (senders, recipients))
    return Rule(one, other, frozenset(map(Verb, verbs.split())), effect, name, 7)


def told(rules: list[Rule], *grants: Grant, verb: Verb = Verb.SEND) -> Explanation:
    return explain(rules, grants, DESK, CAREER, verb, NOW)


def text(explanation: Explanation) -> str:
    return "\n".join(as_text.explanation(explanation, lambda time: f"at {time:g}"))


ASKING = rule("*", "*", Effect.ASK, "send", "rules[0]")
ALLOWING = rule("default/desk", "default/career", Effect.ALLOW, "send", "rules[1]")


def test_a_grant_is_told_with_who_gave_it_where_when_and_until_when() -> None:
    once = grant("g-2", scope=Scope.ONCE)
    ended = replace(grant("g-3"), expires_at=100.0)
    elsewhere = replace(grant("g-4", scope=Scope.CONVERSATION), conversation=ConversationId("c-2"))
    lasting = replace(grant("g-1"), expires_at=200.0)
    assert text(told([ASKING, ALLOWING], once, ended, elsewhere, lasting)) == (
        "allow: send from default/desk to default/career\n"
        "  grant:g-1 allows it: default/desk -> default/career: send, ask"
        " (pair; given by ada via telegram, at 50, until at 200)\n"
        "without that, in this order:\n"
        "  allow  grant:g-2: default/desk -> default/career: send, ask (once; given by ada via telegram, at 50)\n"
        "  ask    rules[0]: * -> *: send\n"
        "  allow  rules[1]: default/desk -> default/career: send"
    )


def test_a_grant_that_denies_is_to_be_revoked() -> None:
    assert text(told([ALLOWING], grant("g-1", Effect.DENY))) == (
        "deny: send from default/desk to default/career\n"
        "  grant:g-1 denies it: default/desk -> default/career: send, ask (pair; given by ada via telegram, at 50)\n"
        "without that, in this order:\n"
        "  allow  rules[1]: default/desk -> default/career: send\n"
        "to allow it:\n"
        "  revoke grant:g-1 of ada"
    )


def test_what_denies_is_narrowed_as_little_as_its_form_allows() -> None:
    def change(senders: str, recipients: str, verbs: str) -> str:
        return text(told([ALLOWING, rule(senders, recipients, Effect.DENY, verbs, "rules[2]")])).splitlines()[-1]

    assert change("default/desk", "default/career", "send") == "  remove rules[2]"
    assert change("default/a,default/desk", "*", "send ask") == '  take default/desk out of "from" in rules[2]'
    assert change("*", "default/a,default/career", "send") == '  take default/career out of "to" in rules[2]'
    assert change("default/desk", "default/career", "send ask") == "  take send out of the verbs of rules[2]"
    assert change("*", "*", "send ask") == "  take send out of the verbs of rules[2], for all that it matches"
    assert change("*", "*", "send") == "  remove rules[2], or name in it only what it is still to deny"


def test_a_missing_verb_is_added_to_the_rule_that_reaches_least() -> None:
    wide, narrow = rule("*", "default/*", Effect.ALLOW, "send", "rules[2]"), replace(ALLOWING, line=90)
    assert text(told([wide, narrow], verb=Verb.WAKE)).splitlines()[-1] == "  add wake to the verbs of rules[1]"


def test_a_rule_is_written_so_that_it_can_be_pasted() -> None:
    assert written(rule('tag:a "b" \\c,project:ü', "kind:chat", Effect.DENY, "wake send", "new")) == (
        "[[policy.rules]]\n"
        'from = ["tag:a \\"b\\" \\\\c", "project:ü"]\n'
        'to = "kind:chat"\n'
        'verbs = ["send", "wake"]\n'
        'effect = "deny"'
    )


def test_a_grant_as_json() -> None:
    bound = replace(grant("g-1", Effect.DENY, Scope.CONVERSATION), conversation=NOW.conversation, expires_at=200.0)
    shown = as_json.explanation(told([], bound))
    assert shown["decided_by"] == {
        "grant": "g-1",
        "effect": "deny",
        "from": ["default/desk"],
        "to": ["default/career"],
        "verbs": ["ask", "send"],
        "scope": "conversation",
        "by": "ada",
        "via": "telegram",
        "given_at": 50.0,
        "expires_at": 200.0,
        "conversation": "c-1",
    }
    assert (shown["effect"], shown["rule"]) == ("deny", "grant:g-1")
    assert [one["change"] for one in shown["changes"]] == ["revoke", "add_rule"]
