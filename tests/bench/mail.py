"""The mail that every measure sends: one sender's messages of 290 bytes, each lane to a recipient of its own."""

from dataclasses import replace

from adapters.system import SystemClock, system_randomness
from bridge.ids import ConversationId, Ids, MessageId, SessionId, TurnId
from bridge.message import Intent, Message, Origin, Outcome

BODY = "What is left to do before the release? " * 8
TEXT = BODY[:290]
LIFE_S = 7 * 86_400.0


class Mail:
    def __init__(self, recipients: int = 256) -> None:
        self._clock = SystemClock()
        self._ids = Ids(self._clock, system_randomness())
        self._recipients = recipients
        self._sent = 0

    def message(self, lane: int) -> Message:
        """The next message of a lane. With more recipients than lanes, a lane's go to all of them in turn."""
        now = self._clock.now()
        self._sent += 1
        recipient = lane if self._recipients <= 256 else self._sent * 7919 % self._recipients
        sender = SessionId("default/desk")
        return Message(
            id=MessageId(self._ids.new()),
            sender=sender,
            recipient=recipient_of(recipient),
            intent=Intent.REQUEST,
            text=TEXT,
            origin=Origin.PEER,
            wake=True,
            conversation=ConversationId(self._ids.new()),
            accepted_at=now,
            queued_at=now,
            due_at=now,
            expires_at=now + LIFE_S,
            path=(sender,),
        )

    def life(self, lane: int) -> tuple[Message, Message]:
        """A message as it is accepted for a lane that waits, leased to its next turn, and acknowledged."""
        leased = self.message(lane).to_leased(TurnId(self._ids.new()))
        now = leased.accepted_at
        return leased, replace(leased.to_settled(Outcome.ACKED, at=now), read_at=now, version=1)


def recipient_of(number: int) -> SessionId:
    return SessionId(f"default/s-{number:06d}")
