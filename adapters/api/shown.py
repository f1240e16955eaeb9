"""The JSON of results, with exactly the keys of DESIGN §7. Times are RFC 3339 in UTC."""

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from bridge.audit import Act
from bridge.decision import Verdict
from bridge.trace import Step
from bridge.views import Mail, rfc3339

Time = Annotated[str, BeforeValidator(lambda seconds: seconds if seconds is None else rfc3339(seconds))]


class Shown(BaseModel):
    """Filled from a view of the core by the names of its attributes: `Shown.model_validate(view)`."""

    model_config = ConfigDict(from_attributes=True, populate_by_name=True)


class ReceiptShown(Shown):
    message_id: str
    conversation_id: str
    to: str
    state: str
    position: int
    wake: bool
    duplicate: bool
    depth: int
    waits_until: Time | None


class ReplyShown(Shown):
    message_id: str
    sender: str = Field(serialization_alias="from")
    text: str
    late: bool


class AnswerShown(Shown):
    """`state` and `position` say where the question is, `answer` how it stands, `reason` why it closed
    without an answer, or what holds it up."""

    message_id: str
    conversation_id: str
    state: str
    answer: str
    reply: ReplyShown | None
    reason: str | None
    position: int


class MailShown(Shown):
    message_id: str
    sender: str = Field(serialization_alias="from")
    intent: str
    text: str
    origin: str
    conversation_id: str
    in_reply_to: str | None
    depth: int
    accepted_at: Time
    state: str
    late: bool


class InboxShown(Shown):
    messages: list[MailShown]

    @classmethod
    def of(cls, mail: list[Mail]) -> "InboxShown":
        return cls(messages=[MailShown.model_validate(one) for one in mail])


class SessionShown(Shown):
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
    last_seen: Time | None
    unsettled: int
    reachable: str
    busy: str
    agent: str | None
    label: str | None
    outdated: bool
    parent: str | None


class MadeShown(SessionShown):
    """With `waits_for` it is what an operator has to accept there first, and there is no such session before."""

    waits_for: list[str]


class SessionsShown(Shown):
    sessions: list[SessionShown]
    next_cursor: str | None


class StoppedShown(Shown):
    """Whether a turn ran, and how many queued messages were cancelled."""

    stopped: bool
    cancelled: int


class ResumedShown(Shown):
    """Whether anything had held the session back that does not any more."""

    resumed: bool
    waits_for: list[str]


class RenewedShown(Shown):
    """How many requests that the session had read closed as failed."""

    failed: int
    waits_for: list[str]


class TopicShown(Shown):
    """With `waits_for` an operator has to accept it there first, and there is no such topic before."""

    session: str
    place: str | None
    link: str | None
    waits_for: list[str]


class TokenShown(Shown):
    session: str
    name: str
    made_at: Time
    used_at: Time | None


class EntrustedShown(TokenShown):
    """`token` is told this once. With `waits_for` an operator has to accept it there first, and until then it stands
    for nobody."""

    token: str
    waits_for: list[str]


class TokensShown(Shown):
    tokens: list[TokenShown]


class StepShown(Shown):
    """`detail.message_id` says which message of the conversation the step belongs to."""

    at: str
    step: str
    session: str
    detail: dict[str, Any]

    @classmethod
    def of(cls, step: Step) -> "StepShown":
        which = {"message_id": step.message} if step.message else {}
        return cls(at=rfc3339(step.at), step=step.step, session=step.session, detail={**which, **step.detail})


class TraceShown(Shown):
    steps: list[StepShown]


class StatusShown(Shown):
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
    paused_by: str | None
    file: str
    outdated: int
    gateways: list["GatewayShown"]
    nodes: list[Any] = []


class AckedShown(Shown):
    """The messages that this call settled."""

    acked: list[str]


class HeldShown(Shown):
    message_id: str
    sender: str = Field(serialization_alias="from")
    to: str
    verbs: list[str]
    text: str
    depth: int
    conversation_id: str
    expires_at: Time


class ApprovalsShown(Shown):
    approvals: list[HeldShown]


class DecidedShown(Shown):
    message_id: str
    state: str
    outcome: str | None
    said: str
    waits_for: list[str]


class GrantShown(Shown):
    id: str
    sender: str = Field(serialization_alias="from")
    recipient: str = Field(serialization_alias="to")
    verbs: list[str]
    effect: str
    scope: str
    conversation_id: str | None
    by: str
    via: str
    given_at: Time
    expires_at: Time | None
    waits_for: list[str]
    denied: list[str]
    denied_by: list[str]


class DecisionShown(Shown):
    """What is said of two sessions now. `attended`: somebody is there who could approve it."""

    sender: str = Field(serialization_alias="from")
    recipient: str = Field(serialization_alias="to")
    verb: str
    effect: str
    rule: str
    reason: str
    attended: bool


class GrantsShown(Shown):
    grants: list[GrantShown]


class RegimeShown(Shown):
    paused: bool
    by: str | None
    since: Time | None
    waits_for: list[str]


class RecordShown(Shown):
    """`what` is `decision`, with effect and rule, or what somebody did. `code` is there where it was refused."""

    id: str
    at: str
    what: str
    by: str
    origin: str
    subject: str | None
    detail: dict[str, Any]

    @classmethod
    def of(cls, record: Verdict | Act) -> "RecordShown":
        subject: str | None
        if isinstance(record, Act):
            detail = {**record.detail, "via": record.via}
            if isinstance(until := detail.get("expires_at"), float):
                detail["expires_at"] = rfc3339(until)
            what, by, subject = record.act.value, record.by, record.subject
        else:
            what, by, subject = "decision", record.person or record.sender, record.message
            told = {
                "from": record.sender,
                "to": record.recipient,
                "verbs": list(record.verbs),
                "effect": record.effect.value,
                "code": record.code.value if record.code else None,
                "rule": record.rule,
                "reason": record.reason,
                "conversation_id": record.conversation,
            }
            detail = {name: value for name, value in told.items() if value is not None}
        at = rfc3339(record.at)
        return cls(id=record.id, at=at, what=what, by=by, origin=record.origin, subject=subject, detail=detail)


class AuditShown(Shown):
    records: list[RecordShown]
    next_before: str | None


class PairedShown(Shown):
    name: str
    token: str
    waits_for: list[str]


class GatewayShown(Shown):
    name: str
    paired_at: Time
    paired_by: str
    seen_at: Time | None
    linked: bool
    sessions: int
    software: str | None
    trouble: str | None
    advice: list[str]


class GatewaysShown(Shown):
    gateways: list[GatewayShown]


class ErrorDetail(Shown):
    code: str
    reason: str
    rule: str | None
    remedy: str


class ErrorShown(Shown):
    error: ErrorDetail


class JoinedShown(Shown):
    session: str | None = Field(description="None for a tool server of several agents, until one of them calls.")
    token: str


class TerminalShown(Shown):
    session: str | None
    agent: int | None = Field(description="The process of the agent.")


class ToldShown(Shown):
    """`notice` is a fixed text for the agent. `ended`: the caller is no agent in a terminal, or is it no more."""

    notice: str | None
    ended: bool
