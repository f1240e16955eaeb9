"""The two sources of the settings, the file and the environment over it, and where each value came from."""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from adapters.settings.home import SETTINGS_FILE
from adapters.settings.lines import lines_of
from adapters.settings.problems import Problem, SettingsError

Key = tuple[str | int, ...]

PREFIX = "TIELINE_"
NO_SETTINGS = frozenset({"TIELINE_HOME", "TIELINE_SESSION", "TIELINE_TOKEN"})
"""Variables that say where one is and who, and are not settings."""

_AT_LINE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)\s*\Z")


class EnvironmentText(str):
    """Text from the environment, which has no other types: `6` may stand for a number, `a,b` for a list."""

    __slots__ = ()


class Sources:
    """Both layers as nested tables. A value of the environment hides that of the file."""

    def __init__(
        self, file: dict[str, object], lines: Mapping[Key, int], environ: Mapping[str, str], called: str = SETTINGS_FILE
    ) -> None:
        self.file = file
        self._name = called
        self.environment: dict[str, object] = {}
        self._lines = lines
        self._variables: dict[Key, str] = {}
        for name in sorted(environ):
            if name.startswith(PREFIX) and name not in NO_SETTINGS:
                self._set(name, environ[name])

    def _set(self, name: str, text: str) -> None:
        path = _path_of(name)
        self._variables[path] = name
        table = self.environment
        for key in path[:-1]:
            below = table.setdefault(key, {})
            if not isinstance(below, dict):
                below = table[key] = {}
            table = below
        table[path[-1]] = _decoded(text)

    def get(self, *path: str | int) -> object:
        """The value there, or None."""
        for layer in (self.environment, self.file):
            value = _at(layer, path)
            if value is not None:
                return value
        return None

    def keys(self, *path: str | int) -> list[str]:
        """The keys of a table in both layers, those of the file first; none where there is no table."""
        found: dict[str, None] = {}
        for layer in (self.file, self.environment):
            table = _at(layer, path)
            if isinstance(table, dict):
                found.update(dict.fromkeys(table))
        return list(found)

    def items(self, *path: str | int) -> Iterator[tuple[int, object]]:
        """The items of a list, with their index; none where there is no list."""
        value = self.get(*path)
        if isinstance(value, EnvironmentText):
            value = value.split(",")
        if isinstance(value, list):
            yield from enumerate(value)

    def where(self, *path: str | int) -> str:
        """The variable or the line that sets the value there, or the nearest table around it."""
        for end in range(len(path), 0, -1):
            if variable := self._variables.get(path[:end]):
                return variable
            if line := self.line(*path[:end]):
                return f"{self._name}:{line}"
        return self._name

    def line(self, *path: str | int) -> int | None:
        """The line of the file that sets the value, unless the environment does."""
        return None if _at(self.environment, path) is not None else self._lines.get(path)


def read(home: Path, environ: Mapping[str, str]) -> Sources:
    """Without a file, the environment alone counts. Raises `SettingsError` where the file is no TOML."""
    try:
        return read_file(home / SETTINGS_FILE, environ)
    except FileNotFoundError:
        return Sources({}, {}, environ)


def read_file(path: Path, environ: Mapping[str, str]) -> Sources:
    """Raises `FileNotFoundError`, or `SettingsError` where the file is no TOML."""
    try:
        text = path.read_bytes().decode()
        return Sources(tomllib.loads(text), lines_of(text), environ, path.name)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise _unreadable(path.name, f"the file cannot be read ({error.strerror})", "correct that") from error
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise _unreadable(f"{path.name}:{line}", "this is no UTF-8 text", "save the file as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise _no_toml(path.name, str(error), text) from error


def _unreadable(where: str, what: str, remedy: str) -> SettingsError:
    return SettingsError([Problem(where, what, remedy)])


def _no_toml(name: str, message: str, text: str) -> SettingsError:
    found = _AT_LINE.search(message)
    line = (found and found[1]) or text.count("\n") + 1
    what = _AT_LINE.sub("", message)
    return _unreadable(f"{name}:{line}", f"this is no TOML ({what})", "correct the syntax at or before this line")


def _path_of(name: str) -> tuple[str, ...]:
    """The path that a variable sets. Names of sessions and agents have `-` where a shell allows only `_`;
    names in an agent's `env` are left as they are."""
    parts = name.removeprefix(PREFIX).split("__")
    path = [part.lower() for part in parts]
    if path[0] in ("sessions", "agents") and len(path) > 1:
        path[1] = path[1].replace("_", "-")
    if path[0] == "agents" and path[2:3] == ["env"]:
        path[3:] = ["__".join(parts[3:])] if parts[3:] else []
    return tuple(path)


def _decoded(text: str) -> object:
    """Lists and tables are written as JSON; what is none is text."""
    if text.lstrip().startswith(("[", "{")):
        try:
            return json.loads(text)
        except ValueError:
            pass
    return EnvironmentText(text)


def _at(value: object, path: Key) -> object:
    for key in path:
        if isinstance(value, dict) and isinstance(key, str):
            value = value.get(key)
        elif isinstance(value, list) and isinstance(key, int) and key < len(value):
            value = value[key]
        else:
            return None
    return value
