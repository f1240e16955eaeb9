"""What the tools return, with the keys of DESIGN §7. Times are RFC 3339 in UTC."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from bridge import views
from bridge.briefing import INBOX_NOTE, MAIL_NOTE, OPEN_NOTE, REPLY_NOTE, SPAWNED_NOTE
from bridge.views import rfc3339


def _shown(seconds: object) -> object:
    return rfc3339(seconds) if isinstance(seconds, float) else seconds


class Result(BaseModel):
    """Validated from the core's views by attribute, and shown by alias."""

    model_config = ConfigDict(from_attributes=True, populate_by_name=True)


class SessionResult(Result):
    id: str
    title: str
    kind: str
    activity: str
    live: bool
    task: str | None
    project: str | None
    branch: str | None
    unsettled: int
    reachable: str = Field(description="wake: a handoff starts a turn. pull: mail waits. none: it is closed.")
    busy: str = Field(
        description="While it is at work, handoffs wait (queue, collect), may be read (steer) or are refused (reject)."
    )

    parent: str | None = Field(description="Of a child: the session whose turn it retires with.")


class SessionsResult(Result):
    sessions: list[SessionResult]
    next_cursor: str | None


class SentResult(Result):
    message_id: str
    conversation_id: str
    to: str
    state: str
    position: int = Field(description="Place among those that wait for the recipient, from 1; 0: it does not wait.")
    wake: bool
    duplicate: bool
    depth: int
    waits_until: Annotated[str | None, BeforeValidator(_shown)] = Field(description="Not read or begun before then.")


class SpawnedResult(Result):
    """The receipt of a child's first task, by the child's own name."""

    session: str = Field(validation_alias="to", description="The child's id, for peer_ask and peer_send.")
    message_id: str
    conversation_id: str
    state: str = Field(description="queued: it begins. held: a person has to approve it first.")
    depth: int
    note: str = SPAWNED_NOTE


class ReplyResult(Result):
    message_id: str
    sender: str = Field(serialization_alias="from")
    text: str
    late: bool


class AnswerResult(Result):
    message_id: str
    conversation_id: str
    state: str
    answer: str = Field(description="open, answered, no_reply, input_required, failed, expired or cancelled.")
    reply: ReplyResult | None
    reason: str | None
    position: int
    note: str | None = None

    @classmethod
    def of(cls, view: views.AnswerView) -> "AnswerResult":
        note = REPLY_NOTE if view.reply else OPEN_NOTE if view.answer == "open" else None
        return cls.model_validate(view).model_copy(update={"note": note})


class MailResult(Result):
    message_id: str
    sender: str = Field(serialization_alias="from")
    intent: str
    text: str
    origin: str
    in_reply_to: str | None
    conversation_id: str
    accepted_at: str
    redelivered: bool

    @classmethod
    def of(cls, mail: views.Mail) -> "MailResult":
        return cls(
            message_id=mail.message_id,
            sender=mail.sender,
            intent=mail.intent,
            text=mail.text,
            origin=mail.origin,
            in_reply_to=mail.in_reply_to,
            conversation_id=mail.conversation_id,
            accepted_at=rfc3339(mail.accepted_at),
            redelivered=mail.redelivered,
        )


class WaitingResult(Result):
    """Mail as it is listed: without its text."""

    message_id: str
    sender: str = Field(serialization_alias="from")
    intent: str
    origin: str
    state: str
    in_reply_to: str | None
    conversation_id: str
    accepted_at: str

    @classmethod
    def of(cls, mail: views.Mail) -> "WaitingResult":
        return cls(
            message_id=mail.message_id,
            sender=mail.sender,
            intent=mail.intent,
            origin=mail.origin,
            state=mail.state,
            in_reply_to=mail.in_reply_to,
            conversation_id=mail.conversation_id,
            accepted_at=rfc3339(mail.accepted_at),
        )


class InboxResult(Result):
    """`waiting` counts all that is unsettled, `messages` are the oldest of it."""

    messages: list[WaitingResult]
    waiting: int
    note: str = INBOX_NOTE


class ReceivedResult(Result):
    note: str = MAIL_NOTE
    messages: list[MailResult]
    remaining: int = Field(description="How many more wait; call again.")


class AckedResult(Result):
    acked: list[str] = Field(description="The messages that this call settled.")


class DeferredResult(Result):
    message_id: str
    deferred: bool = True
