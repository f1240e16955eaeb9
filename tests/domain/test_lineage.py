"""The pure part of what a child is and may."""

import pytest

from bridge.decision import Circumstances, Effect, Verb
from bridge.errors import Code
from bridge.ids import SessionId, TurnId
from bridge.lineage import LINEAGE_RULE, child, decided, for_child, form, over, seen
from bridge.session import Caps, Habits, Kind, PeerTools, Session, Source
from policy.decide import Rules
from tests.flow.stage import ALL, rule

NOW = Circumstances(0.0, None)


def lasting(handle: str, **more: object) -> Session:
    return Session(SessionId(f"default/{handle}"), handle, Kind.CHAT, Source.FILE, 0.0, **more)  # type: ignore[arg-type]


def born(parent: Session, agent: str = "helper", number: int = 1) -> Session:
    return child(parent, TurnId("t-1"), agent, " A helper ", f"01a3185c-0000-7000-8000-{number:012x}", 5.0)


DESK, CAREER = lasting("desk"), lasting("career")
FIRST, SECOND = born(DESK), born(DESK, number=2)
DEEP = born(FIRST, number=3)


def test_a_child_is_like_its_parent_where_that_bounds_it_and_like_nobody_else() -> None:
    habits = Habits(peer_tools=PeerTools.DENY, peer_mode="plan", hidden=True, inbox_limit=3, accept_wake=False)
    made = born(lasting("desk", habits=habits, cwd="/srv", project="house", tags=("office",), caps=Caps(9, 9)))
    assert (made.id, made.title, made.kind) == ("default/helper-000000000001", "A helper", Kind.TOOL)
    assert (made.cwd, made.project, made.tags, made.caps) == ("/srv", "house", ("agent:helper",), None)
    assert made.habits == Habits(peer_tools=PeerTools.DENY, peer_mode="plan")


@pytest.mark.parametrize(
    ("handle", "childs"),
    [("helper-0123456789ab", True), ("helper-0123456789a", False), ("helper-0123456789abc", False), ("helper", False)],
)
def test_what_only_children_are_called_is_told_by_its_form(handle: str, *, childs: bool) -> None:
    assert for_child(SessionId(f"default/{handle}")) is childs


def test_a_handle_is_one_whatever_the_agent_is_called() -> None:
    made = born(DESK, "a" * 63)
    assert len(made.id.partition("/")[2]) == 63


@pytest.mark.parametrize(
    ("agent", "title"), [("Helper", "A"), ("", "A"), ("a" * 64, "A"), ("a", " "), ("a", "x" * 81), ("a", "a\u2028b")]
)
def test_what_has_not_the_form_is_refused(agent: str, title: str) -> None:
    refused = form(agent, title)
    assert refused is not None
    assert refused.code is Code.INVALID_REQUEST


@pytest.mark.parametrize(
    ("depth", "alive", "code"), [(1, 3, None), (2, 3, None), (3, 0, Code.DEPTH_LIMIT), (1, 4, Code.BUSY)]
)
def test_caps_hold_at_their_bound(depth: int, alive: int, code: Code | None) -> None:
    refused = over(Caps(children=4, depth=2), depth, alive)
    assert (refused.code if refused else None) is code


@pytest.mark.parametrize("verb", Verb)
def test_parent_and_child_may_without_a_rule_what_their_lineage_allows_and_no_more(verb: Verb) -> None:
    nothing = Rules([])
    down = decided(nothing, [DESK], [FIRST, DESK], verb, NOW)
    up = decided(nothing, [FIRST, DESK], [DESK], verb, NOW)
    assert (down.effect is Effect.ALLOW) == (verb in ALL)
    assert (up.effect is Effect.ALLOW) == (verb in (Verb.DISCOVER, Verb.SEND))
    assert {one.rule for one in (down, up) if one.effect is Effect.ALLOW} <= {LINEAGE_RULE}


def test_a_child_of_a_child_needs_that_every_one_above_may_spawn_it() -> None:
    kinds = rule("kind:tool", "tag:agent:helper", [Verb.SPAWN])
    asks = rule("default/desk", "tag:agent:helper", [Verb.SPAWN], Effect.ASK)

    def said(*rules: object) -> Effect:
        policy = Rules(rules)  # type: ignore[arg-type]
        return decided(policy, [FIRST, DESK], [DEEP, FIRST, DESK], Verb.SPAWN, NOW).effect

    assert said(kinds) is Effect.DENY
    assert said(kinds, asks) is Effect.ASK
    assert said(kinds, rule("default/desk", "kind:tool", [Verb.SPAWN])) is Effect.ALLOW


def test_a_grandchild_sees_no_more_than_its_parent_and_its_parents_parent_do() -> None:
    policy = Rules([rule("kind:tool", "*"), rule("default/desk", "default/career", [Verb.DISCOVER])])
    line = [DEEP, FIRST, DESK]
    everybody = [[DESK], [CAREER], [lasting("finance")], [FIRST, DESK], [SECOND, DESK], line]
    # Career by rules about all three; its parent by lineage; and what rules let children do among themselves.
    assert seen(policy, line, everybody, 0.0) == {CAREER.id, DESK.id, FIRST.id, SECOND.id}
