"""What becomes of the first handoff."""

from dataclasses import dataclass
from typing import Any

from bridge.ids import MessageId
from bridge.request import Answer

TEXT = "This is the first handoff. Please answer in one sentence."


@dataclass(frozen=True, slots=True)
class FirstHandoff:
    """`answer` is how the request stands, `shown` whether it is in the first topic by now, and `waits` that an operator
    must accept the file first."""

    message: MessageId | None = None
    answer: str | None = None
    text: str = ""
    shown: bool = False
    waits: bool = False

    @property
    def done(self) -> bool:
        return self.answer == Answer.ANSWERED

    def as_json(self) -> dict[str, Any]:
        return {
            "message_id": self.message,
            "answer": self.answer,
            "text": self.text,
            "shown": self.shown,
            "waits": self.waits,
        }
