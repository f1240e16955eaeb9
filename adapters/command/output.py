"""What a command writes to stdout, line by line: the text for people, and its id of its context."""

import json
import re
from collections.abc import Callable, Iterator

from adapters.command.template import Template

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}")
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)")
_STEP = re.compile(r"([^.\[\]]*)((?:\[[^\[\]=]+=[^\[\]]*\])*)")
_CONDITION = re.compile(r"\[([^\[\]=]+)=([^\[\]]*)\]")


class BadPath(ValueError):
    """What is wrong with a path."""


class Path:
    """A way into an object: keys with dots between them, each with conditions on the object that it leads to, as in
    `item[type=agent_message].text` or `[type=result].result`. Lists are looked through. Raises `BadPath`."""

    def __init__(self, text: str) -> None:
        self._steps = [_step(part) for part in _parts(text)]

    def found(self, value: "Any") -> "list[str]":
        """Every text that it leads to."""
        found = [value]
        for key, conditions in self._steps:
            if key:
                found = [one[key] for one in _objects(found) if key in one]
            if conditions:
                found = [one for one in _objects(found) if all(_text(one.get(k)) == v for k, v in conditions)]
        return [one for one in found if isinstance(one, str)]


def _parts(text: str) -> list[str]:
    """Between the dots, but for those within brackets."""
    return re.split(r"\.(?![^\[]*\])", text)


def _step(part: str) -> tuple[str, list[tuple[str, str]]]:
    found = _STEP.fullmatch(part)
    if found is None or not part:
        raise BadPath(f"{part!r} is no step of a path")
    return found[1], _CONDITION.findall(found[2])


def _objects(found: "list[Any]") -> "Iterator[dict[str, Any]]":
    for one in found:
        yield from (each for each in (one if isinstance(one, list) else [one]) if isinstance(each, dict))


def _text(value: object) -> str | None:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str | int | float) else None


class Output:
    """Takes lines. `say` gets text for people, `think` what was only on the way."""

    def __init__(self, template: Template, say: Callable[[str], None], think: Callable[[str], None]) -> None:
        self.session: str | None = None
        self.said = False
        self.last = ""
        self._say = say
        self._think = think
        self._over = False
        self._json = template.output == "json"
        self._text = Path(template.text) if template.text else None
        self._path = Path(template.session) if self._json and template.session else None
        self._pattern = re.compile(template.session) if not self._json and template.session else None

    def line(self, line: str) -> None:
        if self._over:
            return
        if self._json:
            self._object(line)
        elif not self._tells_session(plain := _ESCAPES.sub("", line)):
            self.said = self.said or bool(plain.strip())
            self.last = plain.strip() or self.last
            self._say(plain)

    def aside(self, line: str) -> None:
        """A line of stderr: some commands tell there which context it is."""
        if not self._over:
            self._tells_session(_ESCAPES.sub("", line))

    def close(self) -> None:
        """Its command has ended. What processes that it has left behind write there later is of no prompt."""
        self._over = True

    def end(self) -> None:
        """Of several texts in objects the last one is what it has said."""
        if self._json and self.last:
            self._say(self.last)

    def _object(self, line: str) -> None:
        try:
            told = json.loads(line)
        except (ValueError, RecursionError):
            return
        for ident in self._path.found(told) if self._path is not None else ():
            self._goes_on(ident)
        for text in self._text.found(told) if self._text is not None else ():
            if self.last:
                self._think(self.last)
            self.last, self.said = text, True

    def _tells_session(self, line: str) -> bool:
        found = self._pattern.fullmatch(line.strip()) if self._pattern is not None else None
        return found is not None and self._goes_on(found[1] if found.re.groups else found[0])

    def _goes_on(self, ident: str) -> bool:
        """Whatever else could be taken for an option of the command, or for several arguments."""
        if not _SESSION.fullmatch(ident or ""):
            return False
        self.session = ident
        return True
