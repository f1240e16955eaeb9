"""What somebody else wrote: forwarded, quoted, or replied to. It goes along as data, never as a person's own words."""

from telegram import (
    Message,
    MessageOrigin,
    MessageOriginChannel,
    MessageOriginChat,
    MessageOriginHiddenUser,
    MessageOriginUser,
)

from adapters.telegram.media import media_of, worded
from adapters.telegram.text import visible
from bridge.message import Attachment

MOST_QUOTED = 2_000
"""How many characters of what is replied to go along."""

_NAME_CHARS = 100


def passed_on(message: Message) -> str | None:
    """Whose a message is that a person only passes on; None where it is the person's own."""
    if message.forward_origin is not None:
        return f"forwarded from {_origin(message.forward_origin)}"
    if message.via_bot is not None:
        return f"made by @{message.via_bot.username or message.via_bot.id}"
    return None


def quoted(message: Message) -> Attachment | None:
    """What a message replies to: the part that is quoted, or the beginning of it."""
    part = message.quote.text if message.quote is not None else None
    replied = answered(message)
    if replied is not None:
        text = part or replied.text or replied.caption or worded(replied)
        file = media_of(replied)
        return _quote(_author(replied), text or (f"({file.name})" if file is not None else ""))
    if message.external_reply is not None:
        return _quote(_origin(message.external_reply.origin), part or "(something said elsewhere)")
    return None


def answered(message: Message) -> Message | None:
    """What it replies to in its chat. A topic's messages "reply" to its creation, which is no reply."""
    replied = message.reply_to_message
    return None if replied is None or replied.forum_topic_created is not None else replied


def of_others(name: str, text: str) -> Attachment:
    return Attachment(visible(name), "text/plain", text=visible(text), size=len(text.encode("utf-8", "replace")))


def _quote(author: str, text: str) -> Attachment | None:
    if not text.strip():
        return None
    return of_others(f"quoted from {author}", text if len(text) <= MOST_QUOTED else f"{text[: MOST_QUOTED - 1]}…")


def _author(message: Message) -> str:
    if message.forward_origin is not None:
        return _origin(message.forward_origin)
    if message.sender_chat is not None:
        return _short(message.sender_chat.title or message.sender_chat.full_name or "")
    return _short(message.from_user.full_name if message.from_user is not None else "")


def _origin(origin: MessageOrigin) -> str:
    match origin:
        case MessageOriginUser():
            return _short(origin.sender_user.full_name)
        case MessageOriginHiddenUser():
            return _short(origin.sender_user_name)
        case MessageOriginChat():
            return _short(origin.sender_chat.title or "")
        case MessageOriginChannel():
            return _short(origin.chat.title or "")
        case _:
            return "somebody"


def _short(name: str) -> str:
    return " ".join(name.split())[:_NAME_CHARS] or "somebody"
