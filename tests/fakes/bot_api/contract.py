"""Holds the fake to the Bot API: every request and every answer passes aiogram's typed models.

aiogram allows unknown fields, for the sake of later versions of the API; here an unknown one is drift.
"""

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from aiogram import methods
from aiogram.client.default import Default
from aiogram.methods import TelegramMethod
from aiogram.types import BufferedInputFile, Update
from pydantic import BaseModel, TypeAdapter, ValidationError

Method = TelegramMethod[Any]
Table = Mapping[str, Callable[[Any], Any]]
"""What does each method, by its name: given the typed request, the answer, or an awaitable of it."""

METHODS: dict[str, type[Method]] = {
    method.__api_method__.lower(): method
    for method in vars(methods).values()
    if inspect.isclass(method) and issubclass(method, TelegramMethod) and method is not TelegramMethod
}
"""By their names in small letters, since the Bot API does not tell them apart by case."""

_WRITTEN_AS_JSON = frozenset(
    {
        "allowed_updates",
        "caption_entities",
        "commands",
        "entities",
        "link_preview_options",
        "message_ids",
        "reaction",
        "reply_markup",
        "reply_parameters",
        "scope",
    }
)
_ADAPTERS: dict[str, TypeAdapter[Any]] = {}


class Drift(AssertionError):
    """A request or an answer does not have the form of the Bot API."""


def parsed(method: type[Method], fields: Mapping[str, str], files: Mapping[str, tuple[str, bytes]]) -> Method:
    """The typed request; `fields` are as they came over HTTP, `files` what was uploaded, with names. Raises
    `Drift`."""
    values: dict[str, Any] = {}
    for name, text in fields.items():
        if name in _WRITTEN_AS_JSON:
            values[name] = json.loads(text)
        elif name in ("chat_id", "user_id") and text.lstrip("-").isdigit():
            values[name] = int(text)
        elif text.startswith("attach://"):
            values[name] = _uploaded(*files[text.removeprefix("attach://")])
        else:
            values[name] = text
    attached = {text.removeprefix("attach://") for text in fields.values()}
    values |= {name: _uploaded(*file) for name, file in files.items() if name not in attached}
    try:
        call = method.model_validate(values)
    except ValidationError as error:
        raise Drift(f"{method.__api_method__}: {error}") from error
    _no_unknown_fields(method.__api_method__, call)
    return call


def checked_answer(method: type[Method], answer: Any) -> None:
    """Raises `Drift`."""
    name = method.__api_method__
    if name not in _ADAPTERS:
        _ADAPTERS[name] = TypeAdapter(method.__returning__)
    _check(name, _ADAPTERS[name], answer)


def checked_update(update: Mapping[str, Any]) -> None:
    """Raises `Drift`."""
    if "update" not in _ADAPTERS:
        _ADAPTERS["update"] = TypeAdapter(Update)
    _check("update", _ADAPTERS["update"], update)


def given(value: Any) -> Any:
    """The value of an optional field, or None where the request left it to the bot's defaults."""
    return None if isinstance(value, Default) else value


def _uploaded(name: str, data: bytes) -> BufferedInputFile:
    return BufferedInputFile(data, filename=name)


def _check(what: str, form: TypeAdapter[Any], value: Any) -> None:
    try:
        _no_unknown_fields(what, form.validate_python(value))
    except ValidationError as error:
        raise Drift(f"{what}: {error}") from error


def _no_unknown_fields(what: str, value: Any) -> None:
    for model in _models(value):
        if model.model_extra:
            raise Drift(f"{what}: {type(model).__name__} has no {', '.join(sorted(model.model_extra))}")


def _models(value: Any) -> Iterator[BaseModel]:
    if isinstance(value, BaseModel):
        yield value
        for name in value.model_fields_set & type(value).model_fields.keys():
            yield from _models(getattr(value, name))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _models(item)
