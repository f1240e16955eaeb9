"""Files that people send."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.fakes.bot_api.world import Json, Stored, World


@dataclass(frozen=True, slots=True)
class Item:
    """One file: `kind` is `photo`, `document`, `voice`, `audio`, `video`, `video_note`, `animation` or `sticker`.

    `size` is what Telegram says of it, where that is not the length of its data.
    """

    kind: str
    data: bytes = b"data"
    name: str | None = None
    mime: str | None = None
    size: int | None = None
    caption: str | None = None


def media_content(world: World, item: Item) -> Json:
    """The parts of a message that holds that file, which can be fetched from now on."""
    stored = world.store(item.name or item.kind, item.data, item.size)
    content = _CONTENT[item.kind](item, stored)
    if item.kind == "animation":
        content["document"] = _file(stored) | {"mime_type": item.mime or "video/mp4"}
    return content | ({} if item.caption is None else {"caption": item.caption})


def _file(stored: Stored) -> Json:
    return {"file_id": stored.file_id, "file_unique_id": stored.file_id, "file_size": stored.size}


def _named(item: Item, mime: str | None) -> Json:
    told = {"file_name": item.name, "mime_type": item.mime or mime}
    return {key: value for key, value in told.items() if value is not None}


def _photo(item: Item, stored: Stored) -> Json:
    small = {"file_id": "thumbnail", "file_unique_id": "thumbnail", "width": 90, "height": 60, "file_size": 1}
    return {"photo": [small, _file(stored) | {"width": 1280, "height": 853}]}


def _document(item: Item, stored: Stored) -> Json:
    return {"document": _file(stored) | _named(item, None)}


def _voice(item: Item, stored: Stored) -> Json:
    return {"voice": _file(stored) | {"duration": 3, "mime_type": item.mime or "audio/ogg"}}


def _audio(item: Item, stored: Stored) -> Json:
    return {"audio": _file(stored) | {"duration": 60} | _named(item, "audio/mpeg")}


def _video(item: Item, stored: Stored) -> Json:
    return {"video": _file(stored) | {"duration": 9, "width": 640, "height": 360} | _named(item, "video/mp4")}


def _video_note(item: Item, stored: Stored) -> Json:
    return {"video_note": _file(stored) | {"duration": 9, "length": 240}}


def _animation(item: Item, stored: Stored) -> Json:
    return {"animation": _file(stored) | {"duration": 2, "width": 320, "height": 180} | _named(item, "video/mp4")}


def _sticker(item: Item, stored: Stored) -> Json:
    drawn = {"type": "regular", "width": 512, "height": 512, "is_animated": False, "is_video": False, "emoji": "👍"}
    return {"sticker": _file(stored) | drawn}


_CONTENT: dict[str, Callable[[Item, Stored], Json]] = {
    "photo": _photo,
    "document": _document,
    "voice": _voice,
    "audio": _audio,
    "video": _video,
    "video_note": _video_note,
    "animation": _animation,
    "sticker": _sticker,
}
