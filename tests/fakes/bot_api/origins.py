"""Where a forwarded message, or one that is replied to from elsewhere, came from."""

from tests.fakes.bot_api.world import Json

_DATE = 1_700_000_000


def person(user: int, *, bot: bool = False) -> Json:
    return {"id": user, "is_bot": bot, "first_name": f"User {user}"}


def of_user(user: int) -> Json:
    return {"type": "user", "date": _DATE, "sender_user": person(user)}


def of_hidden(name: str) -> Json:
    """Somebody who does not let forwards tell who they are."""
    return {"type": "hidden_user", "date": _DATE, "sender_user_name": name}


def of_chat(chat: int, title: str) -> Json:
    """An anonymous administrator of a group."""
    return {"type": "chat", "date": _DATE, "sender_chat": {"id": chat, "type": "supergroup", "title": title}}


def of_channel(chat: int, title: str, message_id: int = 1) -> Json:
    channel = {"id": chat, "type": "channel", "title": title}
    return {"type": "channel", "date": _DATE, "chat": channel, "message_id": message_id}
