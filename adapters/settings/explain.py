"""Turns what the schema refuses into problems that name the key, its line and the remedy."""

from collections.abc import Iterator
from typing import Any, get_args, get_origin

from pydantic import BaseModel, ValidationError

from adapters.settings.problems import Problem, choice
from adapters.settings.schema import File, Table
from adapters.settings.sources import Key, Sources

_WORDS = {
    "string_type": ("should be text", "put it in quotes"),
    "list_type": ("should be a list", "put it in brackets"),
    "tuple_type": ("should be a list", "put it in brackets"),
    "too_short": ("is empty", "write at least one"),
    "int_from_float": ("should be a whole number", "write it without a fraction"),
    "finite_number": ("should be a finite number", "write a number of the size you need"),
    "greater_than": ("should be more than 0", "write a greater number"),
    "missing": ("is missing", "add it"),
}
_TABLE = ("should be a table", "write its keys below a line with its name in brackets")
_NUMBER = ("should be a number", "write it in digits, without quotes")


def problems_of(error: ValidationError, sources: Sources) -> Iterator[Problem]:
    """Values are not repeated, so that no secret gets into a message."""
    for each in error.errors(include_url=False, include_input=False):
        path = tuple(part for part in each["loc"] if part != "[key]")
        if each["type"] == "extra_forbidden":
            yield _unknown(path, sources)
        else:
            what, remedy = _words(each["type"], each.get("ctx", {}))
            yield Problem(sources.where(*path), f"{dotted(path)} {what}", remedy)


def _words(type_: str, context: dict[str, Any]) -> tuple[str, str]:
    if type_ == "tieline":
        return context["what"], context["remedy"]
    if type_.startswith(("dict_", "model_")):
        return _TABLE
    if type_.startswith(("int_parsing", "int_type", "float_")):
        return _NUMBER
    return _WORDS.get(type_, (f"is wrong ({type_.replace('_', ' ')})", "correct it"))


def _unknown(path: Key, sources: Sources) -> Problem:
    key, table = str(path[-1]), _table_at(path[:-1])
    known = [field.alias or name for name, field in table.model_fields.items()] if table else []
    return Problem(sources.where(*path), f"unknown setting {dotted(path)}", choice(key, known))


def _table_at(path: Key) -> type[BaseModel] | None:
    table: type[BaseModel] | None = File
    names_follow = False
    for key in path:
        if names_follow:
            names_follow = False
            continue
        field = table.model_fields.get(str(key)) if table else None
        if field is None:
            return None
        table = next(_tables_in(field.annotation), None)
        names_follow = get_origin(field.annotation) in (dict, list)
    return table


def _tables_in(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, Table):
        yield annotation
    for argument in get_args(annotation):
        yield from _tables_in(argument)


def dotted(path: Key) -> str:
    """A path as people write it: `policy.rules[3].to`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text
