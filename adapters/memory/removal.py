"""Removes from the store in memory what has outlived its retention."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

from adapters.memory.tables import Tables, key_of
from bridge.approval import Approval
from bridge.audit import Act
from bridge.conversation import Conversation, Pair
from bridge.decision import Verdict
from bridge.grant import Grant
from bridge.ids import ConversationId, MessageId, SessionId, TurnId, first_id
from bridge.intake import Update
from bridge.message import Message
from bridge.ports.store import Key
from bridge.post import Post, PostState
from bridge.request import Request
from bridge.session import Session
from bridge.token import Token
from bridge.trace import Step
from bridge.turn import Turn

_KINDS = (
    Message,
    Request,
    Turn,
    Post,
    Update,
    Step,
    Verdict,
    Conversation,
    Key,
    Grant,
    Approval,
    Token,
    Act,
    Pair,
    Session,
)
"""What belongs to a message comes after it."""


def remove(tables: Tables, before: float, keys_before: float) -> int:
    """As `Store.remove`, all at once. Returns how many went."""
    removed = 0
    for kind in _KINDS:
        rule = _Rule(tables, before, keys_before)
        old = [key_of(row) for row in tables.every(kind) if rule.over(row)]
        tables.remove(kind, old)
        removed += len(old)
    for day, profile in [*tables.sent_on]:
        if (day + 1) * 86_400 <= before:
            del tables.sent_on[day, profile]
            removed += 1
    return removed


class _Rule:
    """What may go, as the tables are when it is first asked."""

    def __init__(self, tables: Tables, before: float, keys_before: float) -> None:
        self._tables = tables
        self._before = before
        self._keys_before = keys_before

    def over(self, row: Any) -> bool:
        match row:
            case Message():
                return self._past(row.settled_at) and not self._needed(row)
            case Request():
                return self._past(row.closed_at) and self._alone(row.id)
            case Turn():
                needed = row.id in self._newest_turns and not self._retired(row.session)
                return self._past(row.ended_at) and not needed
            case Post():
                over = row.state is not PostState.PENDING and self._past(row.due_at)
                return over and self._alone(row.message)
            case Update():
                handled = row.handled_at is not None or row.error is not None
                return handled and self._past(row.received_at) and row.number < self._last_numbers[row.source]
            case Step() | Verdict():
                return self._past(row.at) and self._alone(row.message)
            case Conversation():
                return row.id < first_id(self._before) and row.id not in self._traced
            case Key():
                return row.message < first_id(self._keys_before) and self._alone(row.message)
            case Grant():
                return any(map(self._past, (row.used_at, row.revoked_at, row.expires_at)))
            case Approval():
                return self._past(row.closed_at)
            case Token():
                return self._past(row.revoked_at)
            case Act():
                return self._past(row.at)
            case Pair():
                return self._past(max(row.rest_until, *row.recent[-1:], 0))
            case Session():
                over = row.parent is not None and self._past(row.closed_at)
                return over and not self._tables.group(Turn, row.id)
        return False

    def _past(self, time: float | None) -> bool:
        return time is not None and time <= self._before

    def _alone(self, message: MessageId | None) -> bool:
        """Whether the message that something belongs to is not kept."""
        return message is None or self._tables.get(Message, message) is None

    def _needed(self, message: Message) -> bool:
        own = self._tables.get(Request, message.id)
        turn = self._tables.get(Turn, message.turn)
        return (
            (turn is not None and turn.live)
            or (own is not None and not (self._past(own.closed_at) and self._all_past(own.closing, own.late)))
            or message.id in self._awaiting
        )

    def _retired(self, session: SessionId) -> bool:
        """Whether it was a child that is closed."""
        known = self._tables.get(Session, session)
        return known is not None and known.parent is not None and known.closed_at is not None

    def _all_past(self, *replies: MessageId | None) -> bool:
        kept: Iterable[Message | None] = (self._tables.get(Message, reply) for reply in replies)
        return all(reply is None or self._past(reply.settled_at) for reply in kept)

    @cached_property
    def _awaiting(self) -> set[MessageId | None]:
        return {request.parent for request in self._tables.every(Request) if request.open}

    @cached_property
    def _newest_turns(self) -> set[TurnId]:
        every = sorted(self._tables.every(Turn), key=lambda turn: turn.id)
        return set({turn.session: turn.id for turn in every}.values())

    @cached_property
    def _last_numbers(self) -> dict[str, int]:
        every = sorted(self._tables.every(Update), key=lambda update: update.number)
        return {update.source: update.number for update in every}

    @cached_property
    def _traced(self) -> set[ConversationId | None]:
        return {step.conversation for step in self._tables.every(Step)}
