"""Exit codes (sysexits), as DESIGN §7 assigns them."""

from bridge.errors import Code

OK = 0
USAGE = 64
NO_BRIDGE = 69
FAILED = 70
LATER = 75
REFUSED = 77
CONFIG = 78
INTERRUPTED = 130
BROKEN_PIPE = 141

_OF_CODE = {
    Code.INVALID_REQUEST: USAGE,
    Code.SELF_SEND: USAGE,
    Code.TOO_LARGE: USAGE,
    Code.INBOX_FULL: LATER,
    Code.RATE_LIMITED: LATER,
    Code.BUSY: LATER,
    Code.PAUSED: LATER,
    Code.UNAVAILABLE: LATER,
}

_OF_ANSWER = {"answered": OK, "no_reply": OK, "open": LATER, "input_required": LATER}


def of_refusal(code: Code) -> int:
    return _OF_CODE.get(code, REFUSED)


def of_decision(verdict: str, state: str, outcome: str | None) -> int:
    """Whether a held message goes the way that was wanted of it, or has gone another already."""
    stays_away = state == "settled" and outcome in ("refused", "expired", "cancelled")
    return OK if stays_away is (verdict == "deny") else FAILED


def of_answer(answer: str, *, late: bool) -> int:
    """A late answer is an answer. A question in return is none yet: it waits for the asker's next request."""
    return OK if late else _OF_ANSWER.get(answer, FAILED)
