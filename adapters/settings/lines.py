"""The line of every key in a TOML text.

The parser of the standard library keeps no positions, so the text is walked a second time. It is known to
be valid by then: this walk finds where keys and values begin and end, and interprets nothing else.
"""

import re
import tomllib

Path = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"""(?:"{0,2})'
    r"|'''.*?'''(?:'{0,2})"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_PLAIN_VALUE = re.compile(r"[^,\]}#\n]*")


def lines_of(text: str) -> dict[Path, int]:
    """The line, from 1, on which each key, table and list item of a valid TOML text is first named."""
    return _Walk(text).lines()


class _Walk:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line = 1
        self._counted = 0
        self._lines: dict[Path, int] = {}
        self._sizes: dict[Path, int] = {}
        """The number of tables so far of each array of tables."""

    def lines(self) -> dict[Path, int]:
        table: Path = ()
        while self._next(_BLANK) < len(self._text):
            if self._peek("["):
                table = self._header()
            else:
                self._pair(table)
        return self._lines

    def _header(self) -> Path:
        listed = self._peek("[[")
        self._at += 2 if listed else 1
        keys = self._keys()
        table: Path = ()
        for key in keys[:-1]:
            table = self._inside(self._noted((*table, key)))
        table = self._noted((*table, keys[-1]))
        if listed:
            self._sizes[table] = self._sizes.get(table, 0) + 1
            table = self._noted(self._inside(table))
        self._at += 2 if listed else 1
        return table

    def _inside(self, table: Path) -> Path:
        """Where the keys of a table are: of an array of tables, in its latest one."""
        return (*table, self._sizes[table] - 1) if table in self._sizes else table

    def _pair(self, table: Path) -> None:
        path = table
        for key in self._keys():
            path = self._noted((*path, key))
        self._at += 1
        self._next(_SPACE)
        self._value(path)

    def _keys(self) -> list[str]:
        keys = [self._key()]
        while self._peek("."):
            self._at += 1
            keys.append(self._key())
        return keys

    def _key(self) -> str:
        self._next(_SPACE)
        quoted = self._peek('"') or self._peek("'")
        begin = self._at
        end = self._next(_STRING if quoted else _BARE_KEY)
        self._next(_SPACE)
        key = self._text[begin:end]
        return str(tomllib.loads(f"key = {key}")["key"]) if quoted else key

    def _value(self, path: Path) -> None:
        if self._peek("["):
            self._list(path)
        elif self._peek("{"):
            self._inline_table(path)
        else:
            self._next(_STRING if self._peek('"') or self._peek("'") else _PLAIN_VALUE)

    def _list(self, path: Path) -> None:
        self._at += 1
        index = 0
        while self._next(_BLANK) and not self._peek("]"):
            self._value(self._noted((*path, index)))
            index += 1
            self._comma()
        self._at += 1

    def _inline_table(self, path: Path) -> None:
        self._at += 1
        while self._next(_BLANK) and not self._peek("}"):
            self._pair(path)
            self._comma()
        self._at += 1

    def _comma(self) -> None:
        self._next(_BLANK)
        if self._peek(","):
            self._at += 1

    def _noted(self, path: Path) -> Path:
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        self._lines.setdefault(path, self._line)
        return path

    def _next(self, pattern: re.Pattern[str]) -> int:
        """Goes to the end of what matches here, and returns that position."""
        found = pattern.match(self._text, self._at)
        if found is None:
            raise ValueError(f"no valid TOML at character {self._at}")
        self._at = found.end()
        return self._at

    def _peek(self, prefix: str) -> bool:
        return self._text.startswith(prefix, self._at)
