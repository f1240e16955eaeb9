"""The loop guard: depth, visits and blocked waits follow the cause of a message (DESIGN §3).

A counter for each pair never sees a circle of nine. So each message carries the path of senders that led
to it, and a send continues the path of what its sender is working on.
"""

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass

from bridge.errors import Code, Refused
from bridge.ids import ConversationId, MessageId, SessionId
from bridge.limits import Limits
from bridge.message import Intent, Message, Origin


@dataclass(frozen=True, slots=True)
class Cause:
    """What a message contributes to whoever acts on it."""

    message: MessageId
    conversation: ConversationId
    depth: int
    path: tuple[SessionId, ...]


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a send stands in its conversation; `conversation` is None where it begins a new one."""

    conversation: ConversationId | None
    depth: int
    path: tuple[SessionId, ...]
    cause: MessageId | None


def cause_of(message: Message, actor: SessionId | None = None) -> Cause:
    """A person's input begins at depth 0. The closing of one's own request restores the depth and path with
    which that request was sent, so that a desk may consult many specialists one after the other; so does what
    `actor` sent itself and goes on from."""
    if message.intent is Intent.INPUT:
        return Cause(message.id, message.conversation, 0, ())
    closing = message.intent is Intent.REPLY or message.origin is Origin.SYSTEM
    if closing is not (message.sender == actor):
        return Cause(message.id, message.conversation, message.depth - 1, message.path[:-1])
    return Cause(message.id, message.conversation, message.depth, message.path)


def stand(sender: SessionId, causes: Iterable[Cause], replied_to: Cause | None) -> Standing:
    """`replied_to` is a cause too, and chooses the conversation where there are several."""
    every = [*causes, *([replied_to] if replied_to else [])]
    if not every:
        return Standing(None, 1, (sender,), None)
    deepest = max(every, key=lambda cause: cause.depth)
    leading = replied_to or deepest
    return Standing(leading.conversation, deepest.depth + 1, (*deepest.path, sender), leading.message)


def overrun(sender: SessionId, standing: Standing, limits: Limits) -> Refused | None:
    if standing.depth > limits.depth:
        return Refused(
            Code.DEPTH_LIMIT,
            f"this work has been passed on {standing.depth - 1} times; the limit is {limits.depth}",
            rule="limits.depth",
        )
    visits = standing.path.count(sender)
    if visits > limits.visits:
        return Refused(
            Code.VISIT_LIMIT,
            f"this work has come to {sender} {visits} times; the limit is {limits.visits}",
            rule="limits.visits",
        )
    return None


def day_of(now: float) -> int:
    """The day of a profile's quota, since 1970 and in UTC."""
    return int(now // 86_400)


def closes_circle(waits: Mapping[SessionId, Set[SessionId]], asker: SessionId, asked: SessionId) -> bool:
    """Whether `asked` waits, directly or through others, for `asker`, given who is blocked on whom."""
    seen: set[SessionId] = set()
    front = [asked]
    while front:
        one = front.pop()
        if one == asker:
            return True
        if one not in seen:
            seen.add(one)
            front.extend(waits.get(one, ()))
    return False
