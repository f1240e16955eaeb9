"""Admission is a pipeline: the first step with an objection refuses, and nothing later is looked at."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from bridge.admission import Facts, admit, digest, may_send, shape, unknown_session, verbs_of
from bridge.caller import Caller
from bridge.conversation import Conversation, Pair
from bridge.decision import Decision, Effect, Verb
from bridge.errors import Code, Refused
from bridge.ids import ConversationId, SessionId
from bridge.limits import Limits
from bridge.loops import Standing
from bridge.message import Intent, Origin
from bridge.session import Habits, Kind, Session, Source
from bridge.views import Send
from tests.domain.messages import A, B

LIMITS = Limits()
PEER = Caller(A, Origin.PEER)
USER = Caller(A, Origin.USER, person="room:1")
SEND = Send(B, "hello", wake=True)


def a_session(ident: SessionId, **more: object) -> Session:
    base = Session(ident, ident, Kind.CHAT, Source.FILE, created_at=0.0)
    return replace(base, **more)  # type: ignore[arg-type]


def decisions(effect: Effect = Effect.ALLOW) -> Mapping[Verb, Decision]:
    return {verb: Decision(effect, f"rule of {verb}", "because") for verb in (Verb.ASK, Verb.WAKE)}


FINE = Facts(
    sender=a_session(A),
    recipient=a_session(B),
    visible=True,
    decisions=decisions(),
    standing=Standing(ConversationId("c1"), 1, (A,), None),
    conversation=Conversation(ConversationId("c1"), A, None, budget=24),
    pair=Pair(A, B),
    inbox=0,
    open_requests=0,
    today=0,
    circle=False,
    attended=False,
    now=100.0,
)

OBJECTIONS: list[tuple[Code, dict[str, object]]] = [
    (Code.UNKNOWN_SESSION, {"visible": False}),
    (Code.NOT_PERMITTED, {"decisions": decisions(Effect.DENY)}),
    (Code.PAUSED, {"recipient": a_session(B, paused="wrong login")}),
    (Code.TOO_LARGE, {"recipient": a_session(B, habits=Habits(max_chars=4))}),
    (Code.BUSY, {"busy": True}),
    (Code.DEPTH_LIMIT, {"standing": Standing(ConversationId("c1"), 7, (A, B) * 3, None)}),
    (Code.WOULD_DEADLOCK, {"circle": True}),
    (Code.CONVERSATION_BUDGET, {"conversation": Conversation(ConversationId("c1"), A, None, 24, messages=24)}),
    (Code.RATE_LIMITED, {"pair": Pair(A, B, rest_until=101.0)}),
    (Code.RATE_LIMITED, {"today": 10_000}),
    (Code.INBOX_FULL, {"inbox": 50, "open_requests": 50}),
]
"""In the order of the steps."""


def refusal(facts: Mapping[str, object], caller: Caller = PEER, send: Send = SEND) -> Refused | None:
    outcome = admit(caller, send, replace(FINE, **facts), LIMITS)  # type: ignore[arg-type]
    return outcome if isinstance(outcome, Refused) else None


def test_a_request_without_an_objection_is_admitted_by_the_decision_of_its_verb() -> None:
    assert admit(PEER, SEND, FINE, LIMITS) == Decision(Effect.ALLOW, "rule of ask", "because")


@pytest.mark.parametrize("step", range(len(OBJECTIONS)), ids=[code for code, _ in OBJECTIONS])
def test_each_step_refuses_before_all_that_come_after_it(step: int) -> None:
    objections: dict[str, object] = {}
    for _, facts in reversed(OBJECTIONS[step:]):
        objections |= facts
    refused = refusal(objections)
    assert refused is not None
    assert refused.code is OBJECTIONS[step][0]


@pytest.mark.parametrize(
    ("code", "facts"),
    [
        (Code.SELF_SEND, {"recipient": a_session(A)}),
        (Code.UNKNOWN_SESSION, {"recipient": None, "visible": True}),
        (Code.SESSION_CLOSED, {"recipient": a_session(B, closed_at=1.0)}),
        (Code.WAKE_NOT_PERMITTED, {"recipient": a_session(B, habits=Habits(accept_wake=False))}),
        (Code.VISIT_LIMIT, {"standing": Standing(None, 5, (A, B, A, B, A), None)}),
        (Code.INBOX_FULL, {"open_requests": 50}),
    ],
)
def test_what_else_a_step_objects_to(code: Code, facts: dict[str, object]) -> None:
    refused = refusal(facts)
    assert refused is not None
    assert refused.code is code


def test_allowed_to_ask_is_not_allowed_to_wake() -> None:
    denied = Decision(Effect.DENY, "no-rule", "nothing allows it")
    refused = refusal({"decisions": {**decisions(), Verb.WAKE: denied}})
    assert refused is not None
    assert (refused.code, refused.rule) == (Code.WAKE_NOT_PERMITTED, "no-rule")


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"standing": Standing(None, 9, (A, B) * 5, None)}, None),
        ({"circle": True}, None),
        ({"pair": Pair(A, B, rest_until=101.0)}, None),
        ({"inbox": 50}, Code.INBOX_FULL),
        ({"decisions": decisions(Effect.DENY)}, Code.NOT_PERMITTED),
    ],
    ids=["loops", "waits", "rates", "room", "an explicit deny"],
)
def test_a_person_is_bound_by_room_and_denies_but_not_by_loops_and_rates(
    facts: dict[str, object], code: Code | None
) -> None:
    refused = refusal(facts, USER)
    assert (refused.code if refused else None) is code


def test_the_room_for_answers_binds_requests_only() -> None:
    inform = replace(SEND, intent=Intent.INFORM)
    assert refusal({"open_requests": 50}, send=inform) is None


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"text": ""}, Code.INVALID_REQUEST),
        ({"text": " \n\t"}, Code.INVALID_REQUEST),
        ({"text": "a\x00b"}, Code.INVALID_REQUEST),
        ({"text": "a\ud800b"}, Code.INVALID_REQUEST),
        ({"text": "x" * 8_001}, Code.TOO_LARGE),
        ({"intent": Intent.REPLY}, Code.INVALID_REQUEST),
        ({"intent": Intent.INPUT}, Code.INVALID_REQUEST),
        ({"to": "  "}, Code.INVALID_REQUEST),
        ({"to": "b\ud800"}, Code.INVALID_REQUEST),
        ({"key": ""}, Code.INVALID_REQUEST),
        ({"key": "k" * 201}, Code.INVALID_REQUEST),
        ({"key": "k\udfff"}, Code.INVALID_REQUEST),
        ({"in_reply_to": "m\x00"}, Code.INVALID_REQUEST),
        ({"ttl_s": 0.0}, Code.INVALID_REQUEST),
        ({"ttl_s": -1.0}, Code.INVALID_REQUEST),
        ({"ttl_s": float("nan")}, Code.INVALID_REQUEST),
        ({"ttl_s": 7 * 86_400 + 1}, Code.INVALID_REQUEST),
        ({"text": "x" * 8_000, "key": "k" * 200, "ttl_s": 7 * 86_400, "in_reply_to": "m1"}, None),
        ({"text": "🦊 \u202e\u200b\x1b[31m"}, None),
    ],
)
def test_a_request_has_a_shape(change: dict[str, object], code: Code | None) -> None:
    refused = shape(replace(SEND, **change), LIMITS)  # type: ignore[arg-type]
    assert (refused.code if refused else None) is code


def test_a_closed_session_sends_nothing() -> None:
    refused = may_send(a_session(A, closed_at=1.0))
    assert refused is not None
    assert refused.code is Code.SESSION_CLOSED
    assert may_send(a_session(A)) is None


@pytest.mark.parametrize(
    ("intent", "wake", "verbs"),
    [
        (Intent.REQUEST, False, (Verb.ASK,)),
        (Intent.REQUEST, True, (Verb.ASK, Verb.WAKE)),
        (Intent.INFORM, False, (Verb.SEND,)),
        (Intent.INFORM, True, (Verb.SEND, Verb.WAKE)),
    ],
)
def test_each_intent_needs_its_own_verb_and_waking_one_more(
    intent: Intent, wake: bool, verbs: tuple[Verb, ...]
) -> None:
    assert verbs_of(Send(B, "x", intent, wake)) == verbs


def test_a_key_stands_for_all_that_decides_what_is_sent() -> None:
    same = digest(SEND, B)
    assert digest(replace(SEND, key="k", ttl_s=5.0, to="b"), B) == same
    for change in ({"text": "other"}, {"intent": Intent.INFORM}, {"wake": False}, {"in_reply_to": "m1"}):
        assert digest(replace(SEND, **change), B) != same
    assert digest(SEND, A) != same


def test_the_refusal_of_an_unknown_session_names_nothing() -> None:
    assert unknown_session().as_json() == unknown_session().as_json()
    assert B not in unknown_session().reason
