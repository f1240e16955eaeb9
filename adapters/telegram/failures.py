"""What an error of Telegram means for the post that it is about."""

from telegram.error import BadRequest, ChatMigrated, Forbidden, InvalidToken, NetworkError, RetryAfter, TelegramError

from adapters.telegram.config import Patience
from adapters.telegram.limiter import seconds_of
from adapters.telegram.lost import TopicClosed, is_closed, is_gone
from adapters.telegram.place import Spot
from adapters.telegram.wire import never_left
from bridge.backoff import FullJitter
from bridge.ports.chat import Ambiguous, Blocked, Gone, Moved, NotDelivered, TooLong
from bridge.ports.clock import Clock, Randomness
from bridge.post import Post

_BLOCKS = {
    "chat not found": "check the chat's id, and whether the bot is in it",
    "bot was kicked": "add the bot to the chat again",
    "bot is not a member": "add the bot to the chat",
    "bot was blocked": "the person must start the bot again",
    "bot can't initiate conversation": "the person must start the bot first",
    "not enough rights": "allow the bot to write there",
    "have no rights to send": "allow the bot to write there",
    "need administrator rights": "make the bot an administrator there",
    "chat_write_forbidden": "allow the bot to write there",
    "chat_restricted": "allow the bot to write there",
    "chat_send_plain_forbidden": "allow members to send text there",
}
"""What a person can set right: posts wait for that."""

_NOT_DONE = "too many requests"
"""Said with a code that the library takes for a broken line, and so is the last of these."""
_TOO_LONG = ("message is too long", "message_too_long", "request entity too large")
_BLOCKED_S = 900.0
"""The longest pause between attempts at a place that takes nothing."""


class Failures:
    def __init__(self, clock: Clock, randomness: Randomness, patience: Patience) -> None:
        self._clock = clock
        self._patience = patience
        self._jitter = FullJitter(randomness, cap_s=patience.backoff_s)

    def of(self, error: TelegramError, post: Post) -> NotDelivered | Ambiguous:
        """A BadRequest is a NetworkError to the library, but it is Telegram's own word, and so certain."""
        now = self._clock.now()
        soon = now + self._jitter.after(post.attempts + 1)
        match error:
            case RetryAfter():
                return NotDelivered(error.message, retry_at=now + seconds_of(error))
            case InvalidToken():
                return NotDelivered("Telegram refuses the bot's token", retry_at=now + self._patience.hopeless_s)
            case ChatMigrated():
                return Moved("the group is a supergroup now", Spot(error.new_chat_id).place)
            case BadRequest() if is_gone(error):
                return Gone(f"the topic was deleted ({error.message})")
            case BadRequest() if is_closed(error):
                return TopicClosed("the topic is closed")
            case NetworkError() if _found(error, _TOO_LONG):
                return TooLong(f"Telegram refused it: {error.message}")
            case BadRequest() | Forbidden():
                return self._refused(error, post, now)
            case NetworkError() if never_left(error):
                return NotDelivered(f"Telegram cannot be reached: {error.message}", retry_at=soon)
            case NetworkError() if _NOT_DONE in error.message.lower():
                return NotDelivered(f"Telegram refused it: {error.message}", retry_at=soon)
            case _ if post.receipt is not None:  # an edit may be made twice
                return NotDelivered(f"It is not known whether it was edited: {error.message}", retry_at=soon)
            case _:
                return Ambiguous(f"Telegram did not confirm it: {error.message}")

    def _refused(self, error: TelegramError, post: Post, now: float) -> NotDelivered:
        reason = f"Telegram refused it: {error.message}"
        if known := _found(error, _BLOCKS):
            pause_s = min(self._patience.hopeless_s * 2**post.attempts, _BLOCKED_S)
            return Blocked(f"{reason} ({_BLOCKS[known]})", retry_at=now + pause_s)
        return NotDelivered(reason)


def unchanged(error: BadRequest) -> bool:
    """Whether an edit failed for what it was to show stands there already."""
    return "message is not modified" in error.message.lower()


def _found(error: TelegramError, known: "dict[str, str] | tuple[str, ...]") -> str:
    said = error.message.lower()
    return next((one for one in known if one in said), "")
