"""Markdown as agents mean it.

Its parser would take away what is not meant for it: `List<T>` is no HTML to them, `__init__` not bold, `a || b` hides
nothing. Such signs are given to it as noncharacters, of which `text.visible` leaves none in a text, and put back in
what comes out of it. Where the parser itself has to say what is what, it is asked.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from adapters.telegram.text import visible
from bridge.markdown import escaped

_KEPT = "<_~$[]*\\,&"
_HIDDEN = {sign: chr(0xFDD0 + number) for number, sign in enumerate(_KEPT)}
_PUT_BACK = str.maketrans({hidden: sign for sign, hidden in _HIDDEN.items()})


class Mark(StrEnum):
    """Stands where something is decided once it is known what is around it."""

    BAR = "\ufde0"
    """Between two bars that hide nothing. It is nothing, or an empty cell of a table."""
    BLANK = "\ufde1"
    """The text of a link or an image that has none."""
    NUMBER = "\ufde2"
    """Behind the number of a list's item, and before the box of a task."""
    NO_TABLE = "\ufde3"
    """Before a table that would not show all of its cells, so that it is none."""
    ESCAPED = "\ufde4"
    """`\\<`: in code both signs, elsewhere the second."""
    BREAK = "\ufde5"
    BREAK_CLOSED = "\ufde6"
    BREAK_SPACED = "\ufde7"
    """A line break in HTML, but in code."""


BREAKS = {Mark.BREAK: "<br>", Mark.BREAK_CLOSED: "<br/>", Mark.BREAK_SPACED: "<br />"}
MARKS = re.compile(f"[0-9]*{Mark.NUMBER}|[{''.join(mark for mark in Mark if mark != Mark.NUMBER)}]")

_BREAKS = re.compile("|".join(map(re.escape, BREAKS.values())))
_LESS = re.compile(r"<(?!(?:https?://|tg://|mailto:)[^\s<>]*>|[\w.+-]+@[\w-]+(?:\.[\w-]+)+>)")
_REFERENCE = re.compile(r"&(#(?:(?P<decimal>[0-9]{1,7})|[xX](?P<hex>[0-9A-Fa-f]{1,6}));)")
_TOKEN = re.compile(r"(?<!\S)\S*\\\S*")
_TECHNICAL = re.compile(r"(?<!\\)\\[A-Za-z0-9]|(?<![A-Za-z])[A-Za-z]:\\|\A\\\\\w")
_BACKSLASH = re.compile(r"\\(?!\|)([<_~$\[*]?)")
_IDENTIFIER = re.compile(r"(?<![A-Za-z0-9_\\])_*[A-Za-z0-9]+_+[A-Za-z0-9][A-Za-z0-9_]*")
_DUNDER = re.compile(r"(?<![A-Za-z0-9_\\])__(?![A-Z][a-z]*__)([A-Za-z0-9]+(?:_[A-Za-z0-9]+)*)__(?![A-Za-z0-9_])")
_PRODUCT = re.compile(r"(?<![*\w\\])[A-Za-z0-9_]+(?:\*{1,2}[A-Za-z0-9_]+)+(?![*\w])")
_GLOB = re.compile(r"(?:(?<=/)|(?<![^\s`\"'(]))\*{1,2}(?=/)|(?<=/)\*{1,2}(?=[.\s]|\Z)")
_SINGLE = re.compile(r"(?<![~\\])~(?!~)|(?<!\\)\$|(?<!\\)\[(?=\^)")
_BARS = re.compile(r"\|(?=\|)")
_NO_TEXT = re.compile(r"\[[ \t]*\](?=\()")
_FENCE = re.compile(r"^[ \t>*+\-0-9.)]*(?:`{3,}+|~{3,}+)[^\n,]*,[^\n]*", re.MULTILINE)
_DEFINITION = re.compile(
    r"^(?P<set_in>[ \t>*+\-0-9.)]*)\[(?P<name>[^\[\]]+)\]:[ \t]*<?(?P<url>[^\s<>]*)>?"
    r"(?P<more>[^\n]*(?:\n[ \t>]*[\"'(])?)",
    re.MULTILINE,
)
_NAME_ENDS = re.compile(r"\](?=:)")
_NAMED = re.compile(r"\[([^\[\]]+)\]")
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{0,32}\Z")
_ITEM = re.compile(rb"[0-9]{1,9}[.)]")
_ESCAPES = re.compile(rb"\\.")
"""An escaped bar ends no cell."""

_Edit = tuple[int, int, bytes]
"""From, to before, and what is to stand there."""


@dataclass(frozen=True, slots=True)
class Meant:
    """`numbers` are those of the items of its lists that have one or a box, in their order. `defined` are the targets
    of links that are named apart from their text: they are to be seen among the links, or the names are none."""

    markdown: str
    numbers: tuple[str, ...]
    defined: frozenset[str]


def put_back(text: str) -> str:
    return text.translate(_PUT_BACK)


def meant(source: str, *, define: bool = True) -> Meant:
    """What to give to the parser for a text that `visible` has made."""
    text = _TOKEN.sub(_technical, source)
    text = text.replace("\\<", Mark.ESCAPED)
    text = _BREAKS.sub(_break, text)
    text = _LESS.sub(_HIDDEN["<"], text)
    text = _REFERENCE.sub(_reference, text)
    text = _IDENTIFIER.sub(_hidden, text)
    text = _DUNDER.sub(_hidden, text)
    text = _PRODUCT.sub(_hidden, text)
    text = _GLOB.sub(_hidden, text)
    text = _SINGLE.sub(_hidden, text)
    text = _BARS.sub(f"|{Mark.BAR}", text)
    text = _NO_TEXT.sub(f"[{Mark.BLANK}]", text)
    text = _FENCE.sub(lambda found: found[0].replace(",", _HIDDEN[","]), text)
    text, defined = _defined(text, define=define)
    return _asked(text, defined)


def _technical(found: re.Match[str]) -> str:
    """A path of Windows, a regular expression: none of its backslashes is there to escape."""
    token = found[0]
    if _TECHNICAL.search(token) is None:
        return token
    return _BACKSLASH.sub(lambda sign: _HIDDEN["\\"] + _HIDDEN.get(sign[1], ""), token)


def _break(found: re.Match[str]) -> str:
    return next(mark for mark, written in BREAKS.items() if written == found[0])


def _reference(found: re.Match[str]) -> str:
    """None may stand for what `visible` would not leave as it is."""
    code = int(found["decimal"]) if found["decimal"] else int(found["hex"], 16)
    stands = 0 < code < 0x110000 and visible(chr(code)) == chr(code)
    return found[0] if stands else _HIDDEN["&"] + found[1]


def _hidden(found: re.Match[str]) -> str:
    return "".join(_HIDDEN.get(sign, sign) for sign in found[0])


def _defined(text: str, *, define: bool) -> tuple[str, frozenset[str]]:
    """With no definition left but those that would not be missed: of names that are used, with a target alone."""
    named = Counter(name.casefold() for name in _NAMED.findall(text))
    honoured = {
        found.end("name"): put_back(found["url"])
        for found in _DEFINITION.finditer(text)
        if define and named[found["name"].casefold()] > 1 and found["url"] and not found["more"].strip()
    }
    kept = _NAME_ENDS.sub(lambda found: found[0] if found.start() in honoured else _HIDDEN["]"], text)
    return kept, frozenset(honoured.values())


def _asked(text: str, defined: frozenset[str]) -> Meant:
    """What the parser makes of it, and what is to be changed for that."""
    import pyromark  # noqa: PLC0415 - slow to load, so not before it is needed
    from telegramify_markdown.converter import STANDARD_OPTIONS  # noqa: PLC0415 - as above

    source = text.encode()
    edits: list[_Edit] = []
    numbers: list[str] = []
    number: re.Match[bytes] | None = None
    empty = False
    table: _Table | None = None
    for event, where in pyromark.events_with_range(text, options=STANDARD_OPTIONS):
        start, end = where["start"], where["end"]
        match event:
            case {"Start": "Item"}:
                number = _ITEM.match(source, start)
                if number is not None:
                    numbers.append(number[0].decode())
            case {"Text": _}:
                empty = False
            case {"TaskListMarker": _}:
                numbers[-1:] = [f"{numbers[-1]} "] if number is not None else [*numbers[-1:], ""]
            case {"Start": {"CodeBlock": {"Fenced": str(said)}}}:
                empty = bool(said)
                if not _LANGUAGE.match(said):
                    edits.append(_said_first(source, start))
                    empty = False
            case {"End": "CodeBlock"} if empty:
                edits.append(_said_first(source, start))
            case {"Start": {"Table": columns}}:
                table = _Table(start, end, len(columns))
            case {"Start": "TableRow"} if table is not None:
                table.add(source[start:end])
            case {"Start": {"Link": {"title": title}} | {"Image": {"title": title}}}:
                if title:
                    edits.append((end, end, f" ({escaped(title)})".encode()))
                if table is not None:
                    table.links.append(source[start:end])
            case {"End": "Table"} if table is not None:
                edits += table.edits(source)
                table = None
    return Meant(_edited(source, edits).decode(), tuple(numbers), defined)


def _said_first(source: bytes, fence: int) -> _Edit:
    """What is said behind a fence and is no language becomes the first line of its code."""
    line = source.rfind(b"\n", 0, fence) + 1
    set_in = re.sub(rb"[^>\s]", b" ", source[line:fence])
    said = fence
    while source[said : said + 1] in (b"`", b"~"):
        said += 1
    return said, said, b"\n" + set_in


@dataclass(slots=True)
class _Table:
    """Its cells show text only, so that links stand below it. Cells for which there is no column would not be shown."""

    start: int
    end: int
    columns: int
    whole: bool = True
    links: list[bytes] = field(default_factory=list)

    def add(self, row: bytes) -> None:
        cells = _ESCAPES.sub(b"", row.strip().removeprefix(b"|").removesuffix(b"|"))
        self.whole = self.whole and cells.count(b"|") < self.columns

    def edits(self, source: bytes) -> Iterator[_Edit]:
        if not self.whole:
            dashes = re.compile(rb"[^\n]*\n[ \t>]*").match(source, self.start)
            at = dashes.end() if dashes is not None else self.start
            yield at, at, Mark.NO_TABLE.encode()
            return
        for mark in BREAKS:
            for found in re.compile(mark.encode()).finditer(source, self.start, self.end):
                yield *found.span(), b" "
        if self.links:
            yield self.end, self.end, b"\n\n" + " · ".encode().join(self.links) + b"\n\n"


def _edited(source: bytes, edits: list[_Edit]) -> bytes:
    pieces, at = [], 0
    for start, end, instead in sorted(edits):
        pieces += [source[at:start], instead]
        at = end
    return b"".join([*pieces, source[at:]])
