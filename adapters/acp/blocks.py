"""A prompt as the content blocks of ACP, by what its agent takes."""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from acp import schema

from bridge.message import Attachment
from bridge.ports.runtime import Prompt

MOST_BYTES = 5 * 2**20
"""Of one image or sound that goes along in its block: a larger one is known by its path alone."""
MOST_BYTES_IN_ALL = 16 * 2**20
MOST_TEXT_BYTES = 64 * 2**10

_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_TEXTS = frozenset({"application/json", "application/xml", "application/yaml", "application/toml", "application/sql"})


@dataclass(frozen=True, slots=True)
class Takes:
    """The `promptCapabilities` of an agent."""

    images: bool = False
    audio: bool = False
    resources: bool = False

    @classmethod
    def of(cls, offers: "schema.PromptCapabilities | None") -> "Takes":
        if offers is None:
            return cls()
        return cls(bool(offers.image), bool(offers.audio), bool(offers.embedded_context))


def blocks_of(prompt: Prompt, takes: Takes) -> list[Any]:
    """The notice, then what others wrote and what is attached, then the person's own words. Reads files. Raises
    `ValueError`."""
    prompt.check()
    blocks: list[Any] = []
    if prompt.notice:
        blocks.append(_words(prompt.notice))
    for number, text in enumerate(prompt.embedded, 1):
        blocks.append(resource(f"tieline:message/{number}", text))
    blocks.extend(_attached(prompt.attachments, takes))
    if prompt.words:
        blocks.append(_words(prompt.words))
    return blocks


def resource(uri: str, text: str, mime: str = "text/plain") -> schema.EmbeddedResourceContentBlock:
    contents = schema.TextResourceContents(uri=uri, mime_type=mime, text=text)
    return schema.EmbeddedResourceContentBlock(type="resource", resource=contents)


def _attached(attachments: Sequence[Attachment], takes: Takes) -> Iterator[Any]:
    """A file that has no block is known by its path, which the notice names."""
    room = MOST_BYTES_IN_ALL
    for number, one in enumerate(attachments, 1):
        if one.written is not None:
            yield _of_others(number, one.written, takes)
        elif one.path is not None and (block := _file(number, one, Path(one.path), takes, room)) is not None:
            room -= one.size
            yield block


def _attachment(number: int, text: str, mime: str = "text/plain") -> Any:
    return resource(f"tieline:attachment/{number}", text, mime)


def _of_others(number: int, text: str, takes: Takes) -> Any:
    if takes.resources:
        return _attachment(number, text)
    # Each line is set off, so that none can pass for its user's.
    return _words("\n".join(["[Tieline] Written by somebody else:", *(f"> {line}" for line in text.splitlines())]))


def _file(number: int, one: Attachment, path: Path, takes: Takes, room: int) -> Any | None:
    if one.mime in _IMAGES and takes.images and one.size <= min(MOST_BYTES, room):
        data = _read(path)
        return data and schema.ImageContentBlock(type="image", data=_encoded(data), mime_type=one.mime)
    if one.mime.startswith("audio/") and takes.audio and one.size <= min(MOST_BYTES, room):
        data = _read(path)
        return data and schema.AudioContentBlock(type="audio", data=_encoded(data), mime_type=one.mime)
    if (one.mime.startswith("text/") or one.mime in _TEXTS) and takes.resources and one.size <= MOST_TEXT_BYTES:
        text = _text(_read(path))
        return text and _attachment(number, f"{path}:\n{text}", one.mime)
    return None


def _read(path: Path) -> bytes | None:
    """None where it is not there any more: its agent finds that out by the path."""
    try:
        return path.read_bytes()
    except OSError:
        return None


def _text(data: bytes | None) -> str | None:
    try:
        text = data.decode() if data is not None else None
    except UnicodeDecodeError:
        return None
    return text if text and "\0" not in text else None


def _encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _words(text: str) -> schema.TextContentBlock:
    return schema.TextContentBlock(type="text", text=text)
