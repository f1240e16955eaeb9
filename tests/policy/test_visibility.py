"""Visibility is remembered per viewer, and never stale."""

from collections.abc import Sequence
from dataclasses import replace

from bridge.decision import Effect, Party, Verb
from bridge.grant import Grant, GrantId, Scope
from bridge.ids import ConversationId, SessionId
from bridge.session import Kind
from policy.decide import Rules
from policy.rules import Rule
from policy.selectors import Selector
from policy.visibility import Memory

NOW = 1_000.0
VIEWER = Party(SessionId("default/viewer"), Kind.CHAT)


def crowd(size: int) -> list[Party]:
    return [Party(SessionId(f"default/s{n}"), Kind.CHAT) for n in range(size)]


class Looks:
    """Sees everybody, and counts how often it had to look."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, viewer: Party, others: Sequence[Party], era: int) -> frozenset[str]:
        self.times += 1
        return frozenset(other.id for other in others)


def test_the_same_question_is_computed_once() -> None:
    looks = Looks()
    memory = Memory(looks)
    answers = [memory.of(VIEWER, crowd(100), 0) for _ in range(3)]
    assert looks.times == 1
    assert answers == [frozenset(other.id for other in crowd(100))] * 3


def test_a_change_of_the_sessions_is_seen_at_once() -> None:
    to_office = Rule((Selector("*"),), (Selector("tag:office"),), frozenset({Verb.SEND}), Effect.ALLOW, "office")
    policy = Rules([to_office])
    others = crowd(100)
    assert not policy.visible(VIEWER, others, NOW)
    others[7] = replace(others[7], tags=frozenset({"office"}))
    assert set(policy.visible(VIEWER, others, NOW)) == {"default/s7"}
    del others[7]
    assert not policy.visible(VIEWER, others, NOW)


def test_a_change_of_the_viewer_is_seen_at_once() -> None:
    by_tag = Rule((Selector("tag:lead"),), (Selector("*"),), frozenset({Verb.ASK}), Effect.ASK, "leads")
    policy = Rules([by_tag])
    assert not policy.visible(VIEWER, crowd(100), NOW)
    assert len(policy.visible(replace(VIEWER, tags=frozenset({"lead"})), crowd(100), NOW)) == 100


def test_the_end_of_a_grant_is_seen_at_once_and_what_does_not_change_is_kept() -> None:
    grants = [_grant("g-1", "default/s1", until=1_100.0), _grant("g-2", "default/s2", until=1_200.0)]
    policy = Rules([]).granted([*grants, _grant("g-3", "default/s3", until=None)])
    others = crowd(100)
    before = policy.visible(VIEWER, others, NOW)
    assert set(before) == {"default/s1", "default/s2", "default/s3"}
    assert policy.visible(VIEWER, list(others), 1_099.9) is before
    assert set(policy.visible(VIEWER, others, 1_100.0)) == {"default/s2", "default/s3"}
    assert set(policy.visible(VIEWER, others, 1_200.0)) == {"default/s3"}
    assert policy.visible(VIEWER, others, NOW) == before, "also where the clock was set back"


def test_what_is_denied_in_one_conversation_is_seen_for_the_sake_of_the_others() -> None:
    denying = replace(
        _grant("g-1", "default/s1", until=None),
        effect=Effect.DENY,
        scope=Scope.CONVERSATION,
        conversation=ConversationId("c-1"),
    )
    every = Rule((Selector("*"),), (Selector("default/s1"),), frozenset({Verb.SEND}), Effect.ALLOW, "to one")
    assert set(Rules([every]).granted([denying]).visible(VIEWER, crowd(100), NOW)) == {"default/s1"}
    everywhere = replace(denying, scope=Scope.PAIR, conversation=None)
    assert not Rules([every]).granted([everywhere]).visible(VIEWER, crowd(100), NOW)


def _grant(ident: str, recipient: str, until: float | None) -> Grant:
    return Grant(
        GrantId(ident), VIEWER.id, recipient, (Verb.SEND,), Effect.ALLOW, Scope.PAIR, "ada", "cli", 900.0, until
    )


def test_it_remembers_only_the_latest_viewers() -> None:
    looks = Looks()
    memory = Memory(looks)
    viewers = crowd(1_000)
    for viewer in viewers:
        memory.of(viewer, viewers[:20], 0)
    memory.of(viewers[-1], viewers[:20], 0)
    assert looks.times == 1_000
    memory.of(viewers[0], viewers[:20], 0)
    assert looks.times == 1_001
