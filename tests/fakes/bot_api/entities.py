"""Formatted text as the server reads it: what it refuses, and what it drops without a word."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from urllib.parse import urlsplit

from tests.fakes.bot_api.world import Entity, bad_request

MAX_ENTITIES = 100

_FOUND_BY_ITSELF = frozenset({"mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number"})
_ALONE = frozenset({"pre", "code"})
_QUOTES = frozenset({"blockquote", "expandable_blockquote"})
_NEEDS = {"text_link": "a URL", "text_mention": "a user", "custom_emoji": "an emoji"}
_SCHEMES = frozenset({"http", "https", "tg", "ton", "mailto", "tel"})
_NEVER_SHOWN = frozenset({"\r", *map(chr, range(0x2028, 0x202F))})


def units(text: str) -> int:
    """Its length as Telegram counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def parse(text: str, entities: Sequence[Entity]) -> tuple[str, list[Entity], list[str]]:
    """The text and the entities that people see, and what was lost of what was asked for.

    Raises `ApiError` for an entity that ends after the text, or that cuts a character in two.
    """
    losses: list[str] = []
    asked = [entity for entity in entities if entity.type not in _FOUND_BY_ITSELF]
    if len(asked) > MAX_ENTITIES:
        losses.append(f"{len(asked) - MAX_ENTITIES} entities beyond {MAX_ENTITIES}")
        asked = asked[:MAX_ENTITIES]
    kept = [entity for entity in asked if _sound(entity, losses)]
    _check_bounds(text, kept)
    kept = _untangled(sorted(kept, key=lambda entity: (entity.offset, -entity.length)), losses)
    return *_trimmed(*_cleaned(text, kept)), losses


def link_error(url: str) -> str | None:
    """Why the server does not take it as a link."""
    parts = urlsplit(url)
    if parts.scheme in ("tg", "ton", "mailto", "tel"):
        return None
    host = parts.hostname or "" if "://" in url else url.split("/", 1)[0]
    return None if "." in host.strip(".") or ":" in host else "Wrong HTTP URL"


def _sound(entity: Entity, losses: list[str]) -> bool:
    if entity.offset < 0 or entity.length <= 0:
        losses.append(f"{entity.type} of {entity.length} units at {entity.offset}")
        return False
    if entity.type in _NEEDS and not entity.more:
        losses.append(f"{entity.type} without {_NEEDS[entity.type]}")
        return False
    if entity.type == "text_link":
        url = entity.more or ""
        if link_error(url) is not None:
            losses.append(f"a link to {url!r}")
            return False
        if urlsplit(url).scheme not in _SCHEMES:  # it is kept, as http://…: not what was meant
            losses.append(f"a link to {url!r}, which leads to http://{url}")
    return True


def _check_bounds(text: str, entities: Sequence[Entity]) -> None:
    starts = set(_starts(text))
    length = units(text)
    for entity in entities:
        if entity.end > length:
            raise bad_request(
                f"entity beginning at UTF-16 offset {entity.offset} ends after the end of the text at UTF-16 offset "
                f"{entity.end}"
            )
        for where, offset in (("begins", entity.offset), ("ends", entity.end)):
            if offset not in starts:
                byte = len(text.encode("utf-16-le")[: (offset - 1) * 2].decode("utf-16-le").encode())
                raise bad_request(f"entity {where} in a middle of a UTF-16 symbol at byte offset {byte}")


def _starts(text: str) -> Iterator[int]:
    offset = 0
    for char in text:
        yield offset
        offset += 2 if ord(char) > 0xFFFF else 1
    yield offset


def _untangled(entities: Sequence[Entity], losses: list[str]) -> list[Entity]:
    """Without those that overlap in part, or that may not stand in each other. The outer one stays, as the first."""
    kept: list[Entity] = []
    open_: list[Entity] = []
    for entity in entities:
        open_ = [outer for outer in open_ if outer.end > entity.offset]
        wrong = next((outer for outer in open_ if not _may_stand_in(entity, outer)), None)
        if wrong is None:
            kept.append(entity)
            open_.append(entity)
        else:
            losses.append(f"{entity.type} at {entity.offset} in {wrong.type} at {wrong.offset}")
    return kept


def _may_stand_in(entity: Entity, outer: Entity) -> bool:
    if entity.end > outer.end or outer.type in _ALONE:
        return False
    if entity.type in _ALONE and outer.type not in _QUOTES:
        return False
    if entity.type in _QUOTES and outer.type in _QUOTES:
        return False
    return not (entity.type == outer.type == "text_link")


def _cleaned(text: str, entities: Sequence[Entity]) -> tuple[str, list[Entity]]:
    """Without what is never shown: returns, and marks that turn the text."""
    shown: list[str] = []
    moved: dict[int, int] = {}
    before = after = 0
    for char in text:
        moved[before] = after
        width = 2 if ord(char) > 0xFFFF else 1
        before += width
        if char in _NEVER_SHOWN:
            continue
        shown.append(" " if ord(char) < 0x20 and char not in "\t\n" else char)
        after += width
    moved[before] = after
    cleaned = [
        replace(each, offset=moved[each.offset], length=moved[each.end] - moved[each.offset]) for each in entities
    ]
    return "".join(shown), [entity for entity in cleaned if entity.length]


def _trimmed(text: str, entities: Sequence[Entity]) -> tuple[str, list[Entity]]:
    """Without space around it; space that an entity begins with stays."""
    text = text.rstrip()
    end = units(text)
    cut = [replace(entity, length=min(entity.end, end) - entity.offset) for entity in entities if entity.offset < end]
    first = min((entity.offset for entity in cut), default=end)
    lead = min(units(text) - units(text.lstrip()), first)
    text = text.encode("utf-16-le", "surrogatepass")[lead * 2 :].decode("utf-16-le", "surrogatepass")
    return text, [replace(entity, offset=entity.offset - lead) for entity in cut]
