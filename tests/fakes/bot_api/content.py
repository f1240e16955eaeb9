"""What the bot writes, checked as the server does: text with entities, captions, buttons."""

from collections.abc import Sequence
from typing import Any

from aiogram.types import InlineKeyboardMarkup, MessageEntity

from tests.fakes.bot_api.contract import Drift, given
from tests.fakes.bot_api.entities import link_error, parse, units
from tests.fakes.bot_api.world import Entity, Json, World, bad_request

MAX_TEXT = 4096
MAX_CAPTION = 1024
MAX_CALLBACK_DATA = 64
MAX_BUTTONS = 100


def text_content(world: World, text: str, entities: Any, markup: Any, parse_mode: Any) -> Json:
    """The parts of a message: `text`, and `entities` and `reply_markup` where it has them."""
    if not text:
        raise bad_request("message text is empty")
    shown, kept = _formatted(world, text, entities, parse_mode)
    if not shown:
        raise bad_request("text must be non-empty")
    if units(shown) > MAX_TEXT:
        raise bad_request("message is too long")
    return {"text": shown} | _marked("entities", kept) | markup_content(markup)


def caption_content(world: World, caption: str | None, entities: Any, markup: Any, parse_mode: Any) -> Json:
    shown, kept = _formatted(world, caption or "", entities, parse_mode)
    if units(shown) > MAX_CAPTION:
        raise bad_request("message caption is too long")
    written: Json = {"caption": shown} if shown else {}
    return written | _marked("caption_entities", kept) | markup_content(markup)


def draft_text(world: World, text: str, entities: Any, parse_mode: Any) -> str:
    shown, _ = _formatted(world, text, entities, parse_mode)
    if units(shown) > MAX_TEXT:
        raise bad_request("message is too long")
    return shown


def markup_content(markup: Any) -> Json:
    if not isinstance(markup, InlineKeyboardMarkup):
        return {}
    buttons = [button for row in markup.inline_keyboard for button in row]
    if len(buttons) > MAX_BUTTONS:
        raise bad_request("reply markup is too long")
    for button in buttons:
        if not button.text.strip():
            raise bad_request("inline keyboard button text must be non-empty")
        if button.callback_data is not None and not 0 < len(button.callback_data.encode()) <= MAX_CALLBACK_DATA:
            raise bad_request("BUTTON_DATA_INVALID")
        if button.url is not None and (error := link_error(button.url)) is not None:
            raise bad_request(f"inline keyboard button URL '{button.url}' is invalid: {error}")
        if button.callback_data is None and button.url is None:
            raise bad_request("can't parse inline keyboard button: text buttons are unallowed in the inline keyboard")
    return {"reply_markup": markup.model_dump(exclude_none=True)} if buttons else {}


def buttons_of(content: Json) -> tuple[tuple[str, str], ...]:
    keyboard: Json = content.get("reply_markup", {})
    rows = keyboard.get("inline_keyboard", [])
    return tuple((button["text"], button.get("callback_data") or button["url"]) for row in rows for button in row)


def entities_of(content: Json) -> tuple[Entity, ...]:
    marks: list[Json] = content.get("entities") or content.get("caption_entities") or []
    return tuple(
        Entity(each["type"], each["offset"], each["length"], each.get("url") or each.get("language")) for each in marks
    )


def _formatted(world: World, text: str, entities: Any, parse_mode: Any) -> tuple[str, list[Entity]]:
    if given(parse_mode) is not None:
        raise Drift(f"parse_mode {parse_mode} is not modelled: give entities")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise bad_request("strings must be encoded in UTF-8") from None
    shown, kept, losses = parse(text, _asked(entities or ()))
    world.losses.extend(losses)
    return shown, kept


def _asked(entities: Sequence[MessageEntity]) -> list[Entity]:
    return [Entity(each.type, each.offset, each.length, _more(each)) for each in entities]


def _more(entity: MessageEntity) -> str | None:
    user = None if entity.user is None else str(entity.user.id)
    return entity.url or entity.language or entity.custom_emoji_id or user


def _marked(name: str, entities: Sequence[Entity]) -> Json:
    return {name: [_written(entity) for entity in entities]} if entities else {}


def _written(entity: Entity) -> Json:
    extra: Json = {}
    match entity.type:
        case "text_link":
            extra = {"url": entity.more}
        case "pre" if entity.more:
            extra = {"language": entity.more}
        case "custom_emoji":
            extra = {"custom_emoji_id": entity.more}
        case "text_mention":
            extra = {"user": {"id": int(entity.more or 0), "is_bot": False, "first_name": "Somebody"}}
    return {"type": entity.type, "offset": entity.offset, "length": entity.length} | extra
