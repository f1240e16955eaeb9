"""The JSON of results, with exactly the keys of DESIGN §7. Times are RFC 3339 in UTC."""

from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel, Field

from bridge.trace import Step
from bridge.views import AnswerView, Mail, Receipt, ReplyView, SessionView, StatusView


def rfc3339(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class ReceiptShown(BaseModel):
    message_id: str
    conversation_id: str
    to: str
    state: str
    position: int
    wake: bool
    duplicate: bool
    depth: int

    @classmethod
    def of(cls, view: Receipt) -> "ReceiptShown":
        return cls(
            message_id=view.message_id,
            conversation_id=view.conversation_id,
            to=view.to,
            state=view.state,
            position=view.position,
            wake=view.wake,
            duplicate=view.duplicate,
            depth=view.depth,
        )


class ReplyShown(BaseModel):
    message_id: str
    sender: str = Field(serialization_alias="from")
    text: str
    late: bool

    @classmethod
    def of(cls, view: ReplyView) -> "ReplyShown":
        return cls(message_id=view.message_id, sender=view.sender, text=view.text, late=view.late)


class AnswerShown(BaseModel):
    """`state` and `position` say where the question is, `answer` how it stands, `reason` why it closed
    without an answer."""

    message_id: str
    conversation_id: str
    state: str
    answer: str
    reply: ReplyShown | None
    reason: str | None
    position: int

    @classmethod
    def of(cls, view: AnswerView) -> "AnswerShown":
        reply = view.reply
        return cls(
            message_id=view.message_id,
            conversation_id=view.conversation_id,
            state=view.state,
            answer=view.answer,
            reply=None if reply is None else ReplyShown.of(reply),
            reason=view.reason,
            position=view.position,
        )


class MailShown(BaseModel):
    message_id: str
    sender: str = Field(serialization_alias="from")
    intent: str
    text: str
    origin: str
    conversation_id: str
    in_reply_to: str | None
    depth: int
    accepted_at: str
    state: str
    late: bool

    @classmethod
    def of(cls, mail: Mail) -> "MailShown":
        return cls(
            message_id=mail.message_id,
            sender=mail.sender,
            intent=mail.intent,
            text=mail.text,
            origin=mail.origin,
            conversation_id=mail.conversation_id,
            in_reply_to=mail.in_reply_to,
            depth=mail.depth,
            accepted_at=rfc3339(mail.accepted_at),
            state=mail.state,
            late=mail.late,
        )


class InboxShown(BaseModel):
    messages: list[MailShown]

    @classmethod
    def of(cls, mail: list[Mail]) -> "InboxShown":
        return cls(messages=[MailShown.of(one) for one in mail])


class SessionShown(BaseModel):
    id: str
    title: str
    kind: str
    activity: str
    live: bool
    task: str | None
    cwd: str | None
    project: str | None
    branch: str | None
    places: list[str]
    last_seen: str | None
    unsettled: int
    reachable: str

    @classmethod
    def of(cls, view: SessionView) -> "SessionShown":
        return cls(
            id=view.id,
            title=view.title,
            kind=view.kind,
            activity=view.activity,
            live=view.live,
            task=view.task,
            cwd=view.cwd,
            project=view.project,
            branch=view.branch,
            places=list(view.places),
            last_seen=None if view.last_seen is None else rfc3339(view.last_seen),
            unsettled=view.unsettled,
            reachable=view.reachable,
        )


class SessionsShown(BaseModel):
    sessions: list[SessionShown]
    next_cursor: str | None


class StepShown(BaseModel):
    """`detail.message_id` says which message of the conversation the step belongs to."""

    at: str
    step: str
    session: str
    detail: dict[str, Any]

    @classmethod
    def of(cls, step: Step) -> "StepShown":
        which = {"message_id": step.message} if step.message else {}
        return cls(at=rfc3339(step.at), step=step.step, session=step.session, detail={**which, **step.detail})


class TraceShown(BaseModel):
    steps: list[StepShown]


class StatusShown(BaseModel):
    pid: int
    version: str
    profile: str
    uptime_s: float
    store: str
    telegram: dict[str, Any] | None
    sessions: int
    turns: int
    queued: int
    oldest_queued_s: float | None
    nodes: list[Any]

    @classmethod
    def of(cls, view: StatusView) -> "StatusShown":
        return cls(
            pid=view.pid,
            version=view.version,
            profile=view.profile,
            uptime_s=view.uptime_s,
            store=view.store,
            telegram=view.telegram,
            sessions=view.sessions,
            turns=view.turns,
            queued=view.queued,
            oldest_queued_s=view.oldest_queued_s,
            nodes=[],
        )


class AckedShown(BaseModel):
    """The messages that this call settled."""

    acked: list[str]


class ErrorDetail(BaseModel):
    code: str
    reason: str
    rule: str | None
    remedy: str


class ErrorShown(BaseModel):
    error: ErrorDetail
