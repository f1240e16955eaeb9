"""The little language: a script's text to its directives, and the values in them."""

import json
import re

MARK = "do:"
_SEPARATOR = re.compile(r"\s+;(?:\s+|$)|\s*\n\s*")
_WORD = re.compile(r"\s*([a-z][a-z-]*)[ \t]*")
_TOOL = re.compile(r"\S+[ \t]*")
_REFERENCE = re.compile(r"\$\$|\$\{(\w[\w.\[\]]*)\}|\$([A-Za-z_]\w*(?:\.\w+|\[\d+\])*)")
_PART = re.compile(r"\w+")


class Unreadable(Exception):
    """A text that is no script."""


class Directive:
    """`data` is the JSON object of a `call`."""

    __slots__ = ("data", "text", "verb")

    def __init__(self, verb: str, text: str, data: dict[str, object]) -> None:
        self.verb = verb
        self.text = text
        self.data = data


def script_in(text: str) -> str | None:
    """What follows the mark, if `text` is a script."""
    text = text.strip()
    return text[len(MARK) :].strip() if text.startswith(MARK) else None


def read(script: str) -> list[Directive]:
    """Raises `Unreadable`."""
    directives = []
    at = 0
    script = script.strip()
    while at < len(script):
        word = _WORD.match(script, at)
        if not word:
            raise Unreadable(f"no directive: {script[at : at + 40]!r}")
        at = word.end()
        if word[1] == "call":
            directive, at = _call(script, at)
        else:
            end = _SEPARATOR.search(script, word.end(1))
            directive = Directive(word[1], script[at : end.start() if end else len(script)].strip(), {})
            at = end.start() if end else len(script)
        directives.append(directive)
        separator = _SEPARATOR.match(script, at)
        if at < len(script) and not separator:
            raise Unreadable(f"{word[1]} has more than it takes: {script[at : at + 40]!r}")
        at = separator.end() if separator else at
    return directives


def _call(script: str, at: int) -> tuple[Directive, int]:
    tool = _TOOL.match(script, at)
    if not tool:
        raise Unreadable("call needs the name of a tool")
    at = tool.end()
    if not script.startswith("{", at):
        return Directive("call", tool[0].strip(), {}), len(tool[0].rstrip()) + tool.start()
    try:
        data, at = json.JSONDecoder(strict=False).raw_decode(script, at)
    except ValueError as error:
        raise Unreadable(f"call {tool[0].strip()}: {error}") from None
    return Directive("call", tool[0].strip(), data), at


def filled(text: str, values: dict[str, object]) -> str:
    """`text` with its references replaced by what they refer to."""
    return _REFERENCE.sub(lambda found: _as_text(found, values), text)


def filled_data(data: object, values: dict[str, object]) -> object:
    if isinstance(data, dict):
        return {key: filled_data(value, values) for key, value in data.items()}
    if isinstance(data, list):
        return [filled_data(value, values) for value in data]
    if not isinstance(data, str):
        return data
    whole = _REFERENCE.fullmatch(data)
    if whole and whole[0] != "$$":
        return _value(whole, values)
    return filled(data, values)


def _as_text(found: re.Match[str], values: dict[str, object]) -> str:
    if found[0] == "$$":
        return "$"
    value = _value(found, values)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _value(found: re.Match[str], values: dict[str, object]) -> object:
    """What the reference refers to, or its own text where there is no such value."""
    value: object = values
    for part in _PART.findall(found[1] or found[2]):
        if isinstance(value, dict) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return found[0]
    return value
