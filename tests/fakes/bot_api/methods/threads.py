"""Where what the bot sends ends up, and whether it may."""

from typing import Any

from tests.fakes.bot_api.contract import given
from tests.fakes.bot_api.world import GENERAL, THREAD_NOT_FOUND, Room, bad_request


def open_thread(room: Room, thread: int | None) -> int | None:
    """Where a message asked for `thread` ends up: a deleted topic of a private chat gives the chat itself, as the
    real API has been seen to do; General is reached without a thread only."""
    if thread is None:
        if room.forum and room.general.closed:
            raise bad_request("TOPIC_CLOSED")
        return None
    topic = room.topics.get(thread)
    if topic is not None and topic.deleted and room.type == "private":
        return None
    if topic is None or not room.has_topics:
        raise bad_request(THREAD_NOT_FOUND)
    if topic.deleted:
        raise bad_request(topic.refusal)
    if topic.closed:
        raise bad_request("TOPIC_CLOSED")
    return thread


def shown_thread(room: Room, thread: int | None) -> int | None:
    """As `open_thread`, for what is only shown for a moment, which takes General's own number too."""
    return None if thread == GENERAL and room.forum else open_thread(room, thread)


def replied_to(room: Room, reply: Any, thread: int | None) -> int | None:
    """The message of that topic that a reply is to. Raises `ApiError` where it is not there, but for a reply that may
    do without."""
    if reply is None:
        return None
    message = room.messages.get(reply.message_id)
    here = message is not None and (
        not room.has_topics or (message.get("message_thread_id") if message.get("is_topic_message") else None) == thread
    )
    if here:
        return int(reply.message_id)
    if given(reply.allow_sending_without_reply):
        return None
    raise bad_request("message to be replied not found")


def check_may_send(room: Room, what: str) -> None:
    """`what` is `text messages`, `photos` or `documents`."""
    right = {"text messages": "can_send_messages"}.get(what, f"can_send_{what}")
    if not room.bot.manages and not room.bot.may(right):
        raise bad_request(f"not enough rights to send {what} to the chat")
