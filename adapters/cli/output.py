"""What a command prints: text or JSON on stdout, everything else on stderr."""

import json
import sys
from collections.abc import Iterator, Sequence

from adapters.cli.plain import one_line, visible
from bridge.errors import Refused


def record(value: object) -> None:
    """One JSON object on a line of its own, shown at once. Escaped to ASCII, so that any terminal is safe."""
    print(json.dumps(value), flush=True)


def say(text: str) -> None:
    """A line on stdout; the caller has made foreign text visible."""
    print(text, flush=True)


def note(text: str) -> None:
    """A line on stderr."""
    print(visible(text), file=sys.stderr, flush=True)


def refused(refusal: Refused, *, as_json: bool) -> None:
    if as_json:
        record({"error": refusal.as_json()})
        return
    rule = f" (rule {refusal.rule})" if refusal.rule else ""
    note(f"{refusal.code}: {refusal.reason}{rule}\n{refusal.remedy}")


def columns(rows: Sequence[Sequence[str]]) -> None:
    for line in aligned(rows):
        say(line)


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Rows as lines of columns; the last column is as long as it likes."""
    shown = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)][:-1]
    for row in shown:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  ".join([*cells, row[-1]]).rstrip()
