"""A message to begin with, for tests of the pure domain."""

from dataclasses import replace

from bridge.ids import ConversationId, MessageId, SessionId
from bridge.message import Intent, Message, Origin

A = SessionId("default/a")
B = SessionId("default/b")


def message(ident: str = "m1", **more: object) -> Message:
    base = Message(
        id=MessageId(ident),
        sender=A,
        recipient=B,
        intent=Intent.REQUEST,
        text="the secret of the house",
        origin=Origin.PEER,
        wake=True,
        conversation=ConversationId("c1"),
        accepted_at=1.0,
        queued_at=1.0,
        due_at=1.0,
        expires_at=100.0,
        path=(A,),
    )
    return replace(base, **more)  # type: ignore[arg-type]
