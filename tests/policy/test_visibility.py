"""Visibility is remembered per viewer, and never stale."""

from collections.abc import Sequence
from dataclasses import replace

from bridge.decision import Effect, Party, Verb
from bridge.ids import SessionId
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
