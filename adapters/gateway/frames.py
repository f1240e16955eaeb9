"""The frames of the link: one JSON object a line, each with a `type` (deploy/gateway-link.md)."""

import json
from collections.abc import Mapping
from typing import Any

PROTOCOL = 1
MOST_BYTES = 4 * 1024 * 1024
"""Of one line, in both directions."""

Frame = dict[str, Any]


class BadFrame(Exception):
    """What has come is no frame of the protocol; the text says why."""


def written(kind: str, /, **fields: Any) -> bytes:
    return json.dumps({"type": kind, **fields}, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def read(line: bytes) -> Frame:
    try:
        frame = json.loads(line)
    except ValueError as error:
        raise BadFrame(f"a line is no JSON: {error}") from None
    if not isinstance(frame, dict) or not isinstance(frame.get("type"), str):
        raise BadFrame("a line is no JSON object with a type")
    return frame


def text(frame: Mapping[str, Any], name: str, *, most: int = 400) -> str:
    """A field that must be a text, not empty and of at most so many characters. Raises `BadFrame`."""
    value = frame.get(name)
    if not isinstance(value, str) or not value or len(value) > most:
        raise BadFrame(f"{frame.get('type')}: {name} must be a text of 1 to {most} characters")
    return value


def maybe(frame: Mapping[str, Any], name: str, *, most: int = 400) -> str | None:
    return text(frame, name, most=most) if frame.get(name) not in (None, "") else None


def texts(frame: Mapping[str, Any], name: str, *, most: int = 400) -> tuple[str, ...]:
    """A field that may be a list of up to ten texts."""
    value = frame.get(name) or []
    if not isinstance(value, list) or len(value) > 10:
        raise BadFrame(f"{frame.get('type')}: {name} must be a list of at most 10 texts")
    return tuple(text({"type": frame.get("type"), name: one}, name, most=most) for one in value)


def number(frame: Mapping[str, Any], name: str) -> int:
    value = frame.get(name)
    if not isinstance(value, int) or isinstance(value, bool):
        raise BadFrame(f"{frame.get('type')}: {name} must be a whole number")
    return value


def flag(frame: Mapping[str, Any], name: str) -> bool:
    return frame.get(name) is True
