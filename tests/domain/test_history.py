"""What a replayed history proves of a lost turn (invariant 5): in doubt it proves nothing."""

from dataclasses import replace

import pytest

from bridge.history import Called, History, digest, doubt
from bridge.ids import ConversationId, NodeId, SessionId, TurnId
from bridge.turn import Turn

OTHER, OWN = digest(["something else"]), digest(["read your mail"])
LOST = Turn(
    TurnId("t-1"),
    SessionId("default/career"),
    (),
    None,
    ConversationId("c-1"),
    0.0,
    NodeId("here"),
    60.0,
    prompt_sent=True,
    prompt=OWN,
    occurrence=1,
)
RECEIVED = Called("mcp__tieline__peer_receive", reading=True)
BASH = Called("bash", reading=False)


@pytest.mark.parametrize(
    ("turn", "history", "has_read"),
    [
        (LOST, History((OWN,)), False),
        (LOST, History((OTHER, OWN)), False),
        (LOST, History((OTHER, OWN), (RECEIVED,)), True),
        (LOST, History((OWN,), (RECEIVED, RECEIVED)), False),
        (replace(LOST, occurrence=3), History((OWN, OTHER, OWN, OWN), (RECEIVED,)), True),
    ],
)
def test_a_turn_that_shows_nothing_but_reading_is_proven_harmless(turn: Turn, history: History, has_read: bool) -> None:
    assert doubt(turn, history, has_read=has_read) is None


@pytest.mark.parametrize(
    ("turn", "history", "has_read", "why"),
    [
        (replace(LOST, tools_begun=True), History((OWN,)), False, "had begun to use tools"),
        (LOST, History((OWN,), (RECEIVED, BASH)), True, "(bash)"),
        (LOST, History(), False, "for sure"),
        (LOST, History((OTHER,)), False, "for sure"),
        (LOST, History((OWN, OTHER)), False, "for sure"),
        (LOST, History((OWN, OWN)), False, "for sure"),
        (replace(LOST, occurrence=2), History((OWN,)), False, "for sure"),
        (replace(LOST, prompt=None, occurrence=0), History((OTHER,)), False, "for sure"),
        (replace(LOST, prompt=None, occurrence=0), History(), False, "for sure"),
        (LOST, History((OWN,)), True, "all that it did"),
    ],
    ids=[
        "the store knows of a tool",
        "a tool was called",
        "nothing was replayed",
        "the prompt is not there",
        "something was prompted later",
        "it stands there too often",
        "an earlier one like it stands for it",
        "what was prompted is not known",
        "nothing is known at all",
        "the call by which it read is missing",
    ],
)
def test_in_doubt_a_turn_may_have_acted(turn: Turn, history: History, has_read: bool, why: str) -> None:
    assert (reason := doubt(turn, history, has_read=has_read)) is not None
    assert why in reason


def test_a_prompt_is_known_again_however_its_parts_are_joined() -> None:
    assert digest(["a notice", "words"]) == digest(["a notice\n\nwords"]) == digest(["a ", "notice", "\nwords"])
    assert digest(["a notice", "words"]) != digest(["words", "a notice"])
