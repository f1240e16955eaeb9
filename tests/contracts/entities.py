"""Entities with everything filled in that a test does not care about."""

from typing import Any

from bridge.approval import Approval, ApprovalId, Subject
from bridge.audit import Act, ActKind
from bridge.conversation import Conversation, Pair
from bridge.decision import Effect, Verb, Verdict
from bridge.gateway import Gateway
from bridge.grant import Grant, GrantId, Scope
from bridge.ids import ConversationId, MessageId, NodeId, Place, PostId, SessionId, TurnId
from bridge.intake import Note, Update
from bridge.message import Intent, Message, Origin, Outcome, State
from bridge.post import Post, PostKind
from bridge.request import Request
from bridge.session import Binding, Kind, Session, Source
from bridge.token import Token, TokenId
from bridge.trace import Step, StepKind
from bridge.turn import Turn

DESK = SessionId("default/desk")
CAREER = SessionId("default/career")
FINANCE = SessionId("default/finance")
HOME = Place("web:home")
TALK = ConversationId("talk-1")


def session(of: SessionId = DESK, **other: Any) -> Session:
    return Session(**{"id": of, "title": "Desk", "kind": Kind.CHAT, "source": Source.FILE, "created_at": 1.0, **other})


def binding(place: Place = HOME, **other: Any) -> Binding:
    return Binding(**{"place": place, "session": DESK, "source": Source.RUNTIME, "bound_at": 1.0, **other})


def message(id: str = "m-1", **other: Any) -> Message:
    given = {
        "sender": DESK,
        "recipient": CAREER,
        "intent": Intent.REQUEST,
        "text": "What is left to do?",
        "origin": Origin.PEER,
        "wake": True,
        "conversation": TALK,
        "accepted_at": 10.0,
        "queued_at": 10.0,
        "due_at": 10.0,
        "expires_at": 1_000.0,
        **other,
    }
    return Message(id=MessageId(id), **given)


def settled(id: str, *, at: float = 50.0, **other: Any) -> Message:
    return message(id, state=State.SETTLED, outcome=Outcome.ACKED, settled_at=at, **other)


def ids(found: list[Message]) -> list[str]:
    return [one.id for one in found]


def request(id: str = "m-1", **other: Any) -> Request:
    given = {"asker": DESK, "asked": CAREER, "opened_at": 10.0, "expires_at": 1_000.0, **other}
    return Request(id=MessageId(id), **given)


def turn(id: str = "t-1", **other: Any) -> Turn:
    given = {
        "session": CAREER,
        "inputs": (),
        "acts_for": None,
        "conversation": TALK,
        "started_at": 20.0,
        "node": NodeId("here"),
        "leased_until": 80.0,
        **other,
    }
    return Turn(id=TurnId(id), **given)


def conversation(of: ConversationId = TALK, **other: Any) -> Conversation:
    return Conversation(**{"id": of, "first": DESK, "place": HOME, "budget": 24, **other})


def pair(**other: Any) -> Pair:
    return Pair(**{"a": CAREER, "b": DESK, **other})


def post(id: str = "p-1", **other: Any) -> Post:
    given = {
        "key": f"key of {id}",
        "place": HOME,
        "kind": PostKind.NOTICE,
        "text": "It is done.",
        "created_at": 10.0,
        "due_at": 10.0,
        **other,
    }
    return Post(id=PostId(id), **given)


def update(number: int = 1, **other: Any) -> Update:
    return Update(**{"source": "telegram", "number": number, "raw": "{}", "received_at": 10.0, **other})


def note(key: str = "budget:-1001", **other: Any) -> Note:
    return Note(**{"source": "telegram", "key": key, "text": "{}", **other})


def verdict(id: str = "v-1", **other: Any) -> Verdict:
    given = {
        "at": 10.0,
        "sender": DESK,
        "recipient": CAREER,
        "origin": Origin.PEER,
        "verbs": ("ask", "wake"),
        "effect": Effect.ALLOW,
        "rule": "rule 1",
        "reason": "the operator allows it",
        "conversation": TALK,
        **other,
    }
    return Verdict(id=id, **given)


def step(id: str = "s-1", **other: Any) -> Step:
    given = {"at": 10.0, "step": StepKind.ACCEPTED, "session": DESK, "message": "m-1", "conversation": TALK, **other}
    return Step(id=id, **given)


def gateway(id: str = "hermes", **other: Any) -> Gateway:
    given = {"digest": f"digest of {id}", "paired_at": 10.0, "paired_by": "shell", **other}
    return Gateway(id=id, **given)


def grant(id: str = "g-1", **other: Any) -> Grant:
    given = {
        "sender": DESK,
        "recipient": CAREER,
        "verbs": (Verb.ASK, Verb.WAKE),
        "effect": Effect.ALLOW,
        "scope": Scope.PAIR,
        "by": "telegram:111",
        "via": HOME,
        "given_at": 10.0,
        **other,
    }
    return Grant(id=GrantId(id), **given)


def approval(id: str = "a-1", **other: Any) -> Approval:
    given = {
        "subject": Subject.MAIL,
        "about": f"{DESK} {CAREER}",
        "content": "{}",
        "by": DESK,
        "opened_at": 10.0,
        **other,
    }
    return Approval(id=ApprovalId(id), **given)


def token(id: str = "k-1", **other: Any) -> Token:
    given = {
        "session": DESK,
        "name": "client",
        "digest": f"digest of {id}",
        "by": "shell",
        "via": DESK,
        "made_at": 10.0,
        **other,
    }
    return Token(id=TokenId(id), **given)


def act(id: str = "c-1", **other: Any) -> Act:
    given = {
        "at": 10.0,
        "act": ActKind.GRANTED,
        "by": "telegram:111",
        "origin": Origin.USER,
        "via": HOME,
        "subject": "g-1",
        **other,
    }
    return Act(id=id, **given)
