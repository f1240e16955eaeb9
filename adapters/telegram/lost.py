"""How Telegram says that a topic cannot be reached."""

from telegram.error import BadRequest

from bridge.ports.chat import NotDelivered

_GONE = ("message thread not found", "topic_deleted", "topic_id_invalid")


class TopicClosed(NotDelivered):
    """A person may open it again, and so may a bot that manages topics."""


def is_gone(error: BadRequest) -> bool:
    return any(known in error.message.lower() for known in _GONE)


def is_closed(error: BadRequest) -> bool:
    return "topic_closed" in error.message.lower()
