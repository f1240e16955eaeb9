"""Everything that can be refused, each with what to do about it."""

from enum import StrEnum


class Code(StrEnum):
    """The closed set of refusals (DESIGN §3)."""

    INVALID_REQUEST = "invalid_request"
    UNKNOWN_SESSION = "unknown_session"
    UNKNOWN_MESSAGE = "unknown_message"
    SELF_SEND = "self_send"
    NOT_PERMITTED = "not_permitted"
    WAKE_NOT_PERMITTED = "wake_not_permitted"
    TOO_LARGE = "too_large"
    INBOX_FULL = "inbox_full"
    RATE_LIMITED = "rate_limited"
    DEPTH_LIMIT = "depth_limit"
    VISIT_LIMIT = "visit_limit"
    CONVERSATION_BUDGET = "conversation_budget"
    WOULD_DEADLOCK = "would_deadlock"
    NO_RETURN_PATH = "no_return_path"
    ALREADY_ANSWERED = "already_answered"
    SESSION_CLOSED = "session_closed"
    STALE_EPOCH = "stale_epoch"
    EXPIRED = "expired"
    BUSY = "busy"
    PAUSED = "paused"
    UNAVAILABLE = "unavailable"


REMEDY: dict[Code, str] = {
    Code.INVALID_REQUEST: "Correct the request and send it again.",
    Code.UNKNOWN_SESSION: "List the sessions that you can reach, and use an id from that list.",
    Code.UNKNOWN_MESSAGE: "Use the id of a message that you sent or received.",
    Code.SELF_SEND: "Name another session; a session cannot send to itself.",
    Code.NOT_PERMITTED: "Ask the operator for a rule that allows it.",
    Code.WAKE_NOT_PERMITTED: "Send it without wake, or ask the operator to allow the verb wake.",
    Code.TOO_LARGE: "Shorten the text, or put it into a file and send its path.",
    Code.INBOX_FULL: "Wait until messages there have been settled, then send again.",
    Code.RATE_LIMITED: "Wait for the rest to end, then send again.",
    Code.DEPTH_LIMIT: "Answer what you were asked instead of passing it on.",
    Code.VISIT_LIMIT: "This work has come round already: answer it, or stop.",
    Code.CONVERSATION_BUDGET: "A person at the conversation's first place can let it go on.",
    Code.WOULD_DEADLOCK: "The other side waits for you: answer first, or send without waiting.",
    Code.NO_RETURN_PATH: "The message expects no answer; send a message of your own.",
    Code.ALREADY_ANSWERED: "Nothing: an answer has been delivered.",
    Code.SESSION_CLOSED: "The session has been closed; choose another one.",
    Code.STALE_EPOCH: "The lease has passed to somebody else; drop this work.",
    Code.EXPIRED: "Send it again if it still matters.",
    Code.BUSY: "Wait until the session is idle, then send again.",
    Code.PAUSED: "Its people must set it right and resume it.",
    Code.UNAVAILABLE: "Nothing was stored; try again in a moment.",
}


class Refused(Exception):
    """A request was not admitted, and nothing but the decision was stored.

    `rule` names what decided, where a rule did.
    """

    def __init__(self, code: Code, reason: str, *, rule: str | None = None, remedy: str | None = None) -> None:
        super().__init__(f"{code}: {reason}")
        self.code = code
        self.reason = reason
        self.rule = rule
        self.remedy = remedy or REMEDY[code]

    def as_json(self) -> dict[str, str | None]:
        """The body of `error` in every interface (DESIGN §7)."""
        return {"code": self.code.value, "reason": self.reason, "rule": self.rule, "remedy": self.remedy}


class Conflict(Exception):
    """A change was planned on a state that has moved on; nothing of it was stored. Plan it again."""


class IllegalMove(Exception):
    """A move that the transition table does not have. Always a defect of the caller."""
