"""Admission: the pure pipeline that every message passes before it is stored (DESIGN §3).

Each step looks at the request and the facts, and returns a refusal or nothing. The order of the steps is
part of the rules: nothing that depends on the recipient comes before its visibility, so that an invisible
session and an unknown one cannot be told apart.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass

from bridge import phrases
from bridge.caller import Caller
from bridge.conversation import Conversation, Pair
from bridge.decision import Decision, Effect, Verb
from bridge.errors import Code, Refused
from bridge.ids import SessionId
from bridge.limits import Limits
from bridge.loops import Standing, overrun
from bridge.message import Intent, Message, Origin
from bridge.session import Session
from bridge.views import Send

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")

PERSON_RULE = "person"
"""The rule that admits a person who may talk at the recipient's place."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the later steps know. `decisions` has one for each verb of the request. `inbox`, `open_requests` and
    `today`, which is that of the whole profile, are counts before this message. `circle` says that waiting would close
    a circle of waits, `attended` that somebody is there who could approve it, and `busy` that a recipient who takes
    handoffs only when idle is not. `unmade` is why a recipient that is to be made with the message cannot be.
    """

    sender: Session
    recipient: Session | None
    visible: bool
    decisions: Mapping[Verb, Decision]
    standing: Standing
    conversation: Conversation | None
    pair: Pair
    inbox: int
    open_requests: int
    today: int
    circle: bool
    attended: bool
    now: float
    busy: bool = False
    unmade: Refused | None = None


def verbs_of(send: Send | Message) -> tuple[Verb, ...]:
    if isinstance(send, Send) and send.spawns is not None:
        return (Verb.SPAWN,)
    first = Verb.ASK if send.intent is Intent.REQUEST else Verb.SEND
    return (first, Verb.WAKE) if send.wake else (first,)


def digest(send: Send, recipient: SessionId | None) -> str:
    """What an idempotency key stands for: all of the request that decides what is sent."""
    body: list[object] = [recipient or send.to, send.text, send.intent, send.wake, send.in_reply_to]
    if send.attachments:
        body.append([asdict(one) for one in send.attachments])
    return hashlib.sha256(json.dumps(body).encode("utf-8", "surrogatepass")).hexdigest()


def shape(send: Send, limits: Limits) -> Refused | None:
    """The first step, which needs nothing but the request."""
    if send.intent not in (Intent.REQUEST, Intent.INFORM):
        return Refused(Code.INVALID_REQUEST, "intent is request or inform; an answer is sent by a reply")
    if not send.to.strip():
        return Refused(Code.INVALID_REQUEST, "it names no recipient")
    if send.ttl_s is not None and not 0 < send.ttl_s <= limits.message_life_s:
        return Refused(
            Code.INVALID_REQUEST, f"the life of a message is more than 0 and at most {limits.message_life_s:g} s"
        )
    if send.key is not None and not 0 < len(send.key) <= 200:
        return Refused(Code.INVALID_REQUEST, "a key has 1 to 200 characters")
    for name, value in (("to", send.to), ("key", send.key), ("in_reply_to", send.in_reply_to)):
        if value is not None and not storable(value):
            return Refused(Code.INVALID_REQUEST, f"{name} is not valid Unicode: it has a NUL or a lone surrogate")
    return text_shape(phrases.with_attachments(send.text, send.attachments), limits)


def text_shape(text: str, limits: Limits) -> Refused | None:
    if not text.strip():
        return Refused(Code.INVALID_REQUEST, "the text is empty")
    if len(text) > limits.max_chars:
        return Refused(Code.TOO_LARGE, f"the text has {len(text)} characters; the limit is {limits.max_chars}")
    if not storable(text):
        return Refused(Code.INVALID_REQUEST, "the text is not valid Unicode: it has a NUL or a lone surrogate")
    return None


def storable(text: str) -> bool:
    return _UNSTORABLE.search(text) is None


def unknown_session() -> Refused:
    """The same for a session that does not exist and for one that the sender may not discover."""
    return Refused(Code.UNKNOWN_SESSION, "no session of that name can be reached from here")


def closed_session(session: SessionId) -> Refused:
    return Refused(Code.SESSION_CLOSED, f"{session} has been closed")


def may_send(sender: Session) -> Refused | None:
    """The second step: before an idempotency key is looked up."""
    if sender.closed_at is not None:
        return Refused(Code.SESSION_CLOSED, f"{sender.id} has been closed and cannot send")
    return None


def _visible(facts: Facts) -> Refused | None:
    if facts.recipient is not None and facts.recipient.id == facts.sender.id:
        return Refused(Code.SELF_SEND, f"{facts.sender.id} cannot send to itself")
    if facts.recipient is None or not facts.visible:
        return unknown_session()
    return None


def _permitted(facts: Facts) -> Refused | None:
    for verb, decision in facts.decisions.items():
        if decision.effect is Effect.ALLOW or (decision.effect is Effect.ASK and facts.attended):
            continue
        code = Code.WAKE_NOT_PERMITTED if verb is Verb.WAKE else Code.NOT_PERMITTED
        reason = decision.reason
        if decision.effect is Effect.ASK:
            reason = f"{reason}; a person would have to approve it, and nobody attends"
        return Refused(code, reason, rule=decision.rule)
    if Verb.WAKE in facts.decisions and facts.recipient is not None and not facts.recipient.habits.accept_wake:
        return Refused(Code.WAKE_NOT_PERMITTED, f"{facts.recipient.id} takes no handoffs", rule="accept_wake")
    return None


def _able(facts: Facts) -> Refused | None:
    recipient = facts.recipient
    if recipient is not None and recipient.closed_at is not None:
        return closed_session(recipient.id)
    if recipient is not None and recipient.paused is not None:
        return Refused(Code.PAUSED, f"{recipient.id} is paused: {recipient.paused}")
    return facts.unmade


def _sized(facts: Facts, send: Send) -> Refused | None:
    """What the recipient takes at most is its own: nothing of it shows before it may be seen and written to."""
    limit = facts.recipient.habits.max_chars if facts.recipient is not None else None
    if facts.recipient is not None and limit is not None and len(send.text) > limit:
        what = f"the text has {len(send.text)} characters; {facts.recipient.id} takes {limit} at most"
        return Refused(Code.TOO_LARGE, what, rule="max_chars")
    return None


def _idle(facts: Facts) -> Refused | None:
    if facts.busy and facts.recipient is not None:
        return Refused(
            Code.BUSY, f"{facts.recipient.id} is at work, and takes handoffs only when it is idle", rule="busy"
        )
    return None


def inbox_room(recipient: Session, limits: Limits) -> int:
    """How many unsettled messages a session's inbox takes."""
    return limits.inbox if recipient.habits.inbox_limit is None else min(limits.inbox, recipient.habits.inbox_limit)


def admit(caller: Caller, send: Send, facts: Facts, limits: Limits) -> Refused | Decision:
    """The steps after `shape`, `may_send` and the look-up of the key: the decision that admits the request, or
    the refusal of the first step that has one. With the effect `ask` it is admitted to wait for a person's approval,
    which takes no room."""
    deciding = _deciding(facts)

    def loops() -> Refused | None:
        if caller.origin is Origin.USER:
            return None
        return overrun(facts.sender.id, facts.standing, limits) or (
            Refused(Code.WOULD_DEADLOCK, "it waits, directly or through others, for an answer of yours")
            if facts.circle
            else None
        )

    def budgets() -> Refused | None:
        conversation = facts.conversation
        if conversation is not None and conversation.messages >= conversation.budget:
            return Refused(
                Code.CONVERSATION_BUDGET,
                f"this conversation has had its {conversation.budget} messages",
                rule="limits.conversation_messages",
            )
        if caller.origin is not Origin.USER and facts.pair.after_one_more(facts.now, limits).resting(facts.now):
            return Refused(
                Code.RATE_LIMITED,
                f"these two sessions sent each other {limits.pair_messages} messages in {limits.pair_window_s:g} s",
                rule="limits.pair_messages",
            )
        if caller.origin is not Origin.USER and facts.today >= limits.profile_messages_day:
            return Refused(
                Code.RATE_LIMITED,
                f"the sessions of this profile have sent their {limits.profile_messages_day} messages of today",
                rule="limits.profile_messages_day",
                remedy="Wait until tomorrow (UTC), or raise the limit in tieline.toml.",
            )
        return None

    def room() -> Refused | None:
        if deciding.effect is Effect.ALLOW and (full := _full(facts, limits)):
            return full
        if send.intent is Intent.REQUEST and facts.open_requests >= limits.open_requests:
            return Refused(
                Code.INBOX_FULL,
                f"the room for answers is taken: {facts.open_requests} requests of {facts.sender.id} are open",
                rule="limits.open_requests",
                remedy="Wait for answers, or cancel requests that you no longer need.",
            )
        return None

    steps: tuple[Callable[[], Refused | None], ...] = (
        lambda: _visible(facts),
        lambda: _permitted(facts),
        lambda: _able(facts),
        lambda: _sized(facts, send),
        lambda: _idle(facts),
        loops,
        budgets,
        room,
    )
    for step in steps:
        if refused := step():
            return refused
    return deciding


def confirm(facts: Facts, limits: Limits) -> Refused | None:
    """What a message has to pass once a person has approved it: the rules, the recipient and the room of then."""
    for step in (_visible, _permitted, _able):
        if refused := step(facts):
            return refused
    return _full(facts, limits)


def _deciding(facts: Facts) -> Decision:
    """Of those that let the request pass the one that holds it back, if one does."""
    every = facts.decisions.values()
    asking = (decision for decision in every if decision.effect is Effect.ASK)
    return next(asking, next(iter(every), _UNDECIDED))


def _full(facts: Facts, limits: Limits) -> Refused | None:
    most = inbox_room(facts.recipient, limits) if facts.recipient is not None else limits.inbox
    if facts.inbox >= most:
        rule = "limits.inbox" if most == limits.inbox else "inbox_limit"
        return Refused(Code.INBOX_FULL, f"{most} messages wait there already", rule=rule)
    return None


_UNDECIDED = Decision(Effect.DENY, "no-recipient", "there is no recipient to decide about")
