"""The files in a message, and what else it holds that can be put into words."""

import mimetypes
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from telegram import Message

from adapters.telegram.place import Spot
from adapters.telegram.text import visible

_MIME = re.compile(r"[a-z]{1,20}/[A-Za-z0-9.+-]{1,100}")
_UNKNOWN = "application/octet-stream"


@dataclass(frozen=True, slots=True)
class Media:
    """A file that Telegram keeps, of the message with that key. `unique` is always its own, and `id` what it is fetched
    by."""

    message: str
    id: str
    unique: str
    name: str
    mime: str
    size: int = 0


def media_of(message: Message) -> Media | None:
    """The file of a message: of a photo its largest size. A sticker is its emoji, and no file."""
    key = key_of(message)
    if message.photo:
        largest = max(message.photo, key=lambda size: (size.width * size.height, size.file_size or 0))
        return Media(key, largest.file_id, largest.file_unique_id, "photo.jpg", "image/jpeg", largest.file_size or 0)
    for file, name, mime in (
        (message.animation, "animation.mp4", "video/mp4"),  # it is a document too
        (message.video, "video.mp4", "video/mp4"),
        (message.video_note, "video_note.mp4", "video/mp4"),
        (message.voice, "voice.ogg", "audio/ogg"),
        (message.audio, "audio.mp3", "audio/mpeg"),
        (message.document, "file", None),
    ):
        if file is not None:
            given = visible(getattr(file, "file_name", None) or name)
            told = getattr(file, "mime_type", None) or mimetypes.guess_type(given)[0] or mime or _UNKNOWN
            kind = told if _MIME.fullmatch(told) else _UNKNOWN  # the sender's app says it, and agents are told of it
            return Media(key, file.file_id, file.file_unique_id, given, kind, file.file_size or 0)
    return None


def key_of(message: Message) -> str:
    """Under which it is known for good: no two messages of a chat have one number."""
    return f"{Spot(message.chat.id).place}:{message.message_id}"


def worded(message: Message) -> str:
    """What a person says without words: a sticker, a die, a place, somebody's number, a question to vote on."""
    return "\n".join(line for kind, told in _WORDED.items() if (one := getattr(message, kind)) for line in told(one))


def _location(one: Any) -> Iterator[str]:
    yield f"(location: {one.latitude:.6f}, {one.longitude:.6f})"


def _venue(one: Any) -> Iterator[str]:
    yield f"(venue: {one.title}, {one.address})"


def _contact(one: Any) -> Iterator[str]:
    yield f"(contact: {' '.join(filter(None, (one.first_name, one.last_name)))}, {one.phone_number})"


def _poll(one: Any) -> Iterator[str]:
    yield f"(poll: {one.question})"
    yield from (f"- {option.text}" for option in one.options)


def _dice(one: Any) -> Iterator[str]:
    yield f"{one.emoji} {one.value}"


def _sticker(one: Any) -> Iterator[str]:
    yield one.emoji or "(sticker)"


_WORDED: dict[str, Callable[[Any], Iterator[str]]] = {
    "sticker": _sticker,
    "dice": _dice,
    "venue": _venue,
    "location": _location,
    "contact": _contact,
    "poll": _poll,
}
