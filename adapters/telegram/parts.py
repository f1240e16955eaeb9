"""Where a person would cut a text that is too long for one message."""

import re
from bisect import bisect_left
from collections.abc import Iterator
from operator import attrgetter

from adapters.telegram.formatted import STYLES, Formatted, Span
from adapters.telegram.text import MAX_UNITS, fitting, untorn

MAX_ENTITIES = 100

_ITEM = re.compile(r"([ \t]*)(?:[•☐☑]|[0-9]{1,9}[.)]) ")
_SENTENCE = re.compile(r"[.!?…]['\"”’)\]]*\s+|[。！？]")
_NEAR = 20
_CLINGS, _LINE, _DEEPER, _ITEMS, _PARAGRAPH = range(5)
"""How good a cut is by what begins there, the best last. What clings is to stand with the line before it."""


def parts(formatted: Formatted, limit: int = MAX_UNITS) -> Iterator[Formatted]:
    """Each has at most `limit` units and 100 entities, and shows something. Together they are the text, but for white
    space where it is cut."""
    cutter = _Cutter(formatted, limit)
    start = 0
    while start < len(formatted.text):
        end = cutter.end(start)
        part = formatted.cut(start, end)
        if part.text:
            yield part
        start = end


class _Cutter:
    def __init__(self, formatted: Formatted, limit: int) -> None:
        self._text = formatted.text
        self._limit = limit
        self._spans = formatted.spans
        self._blocks = [span for span in formatted.spans if span.kind == "pre"]
        self._ends = [block.end for block in self._blocks]
        self._begins = {block.start for block in self._blocks}
        self._styled = {(span.start, span.end) for span in formatted.spans if span.kind in STYLES}

    def end(self, start: int) -> int:
        """Where the part that begins at `start` ends."""
        text = self._text
        while start < len(text) and text[start] in "\r\n":
            start += 1
        end = self._room(start)
        if end >= len(text):
            return len(text)
        block = self._block_at(end)
        if block is not None and start < block.start and self._room(block.start) >= block.end:
            return self._between_lines(start, block.start, start) or block.start
        half = start + (end - start) // 2
        return self._between_lines(start, end, half) or self._within_line(start, end, half)

    def _room(self, start: int) -> int:
        """How far one message reaches."""
        end = fitting(self._text, start, self._limit)
        reached = self._spans[: bisect_left(self._spans, end, key=attrgetter("start"))]
        inside = [span for span in reached if span.end > start]
        if len(inside) <= MAX_ENTITIES:
            return end
        return max(inside[MAX_ENTITIES].start, start + 1)

    def _block_at(self, cut: int) -> Span | None:
        """The block of code that a cut there would tear."""
        where = bisect_left(self._ends, cut + 1)
        block = self._blocks[where] if where < len(self._blocks) else None
        return block if block is not None and block.start < cut else None

    def _between_lines(self, start: int, end: int, after: int) -> int | None:
        """The best cut before a line, and of equal ones the last."""
        text = self._text
        best, best_rank = None, -1
        cut = end if text[end - 1] == "\n" else text.rfind("\n", start, end) + 1
        while cut > max(start, after):
            rank = self._rank(cut)
            if rank > best_rank:
                best, best_rank = cut, rank
            cut = text.rfind("\n", start, cut - 1) + 1
        return best

    def _rank(self, cut: int) -> int:
        text = self._text
        apart = text[cut - 2 : cut] == "\n\n"
        if self._block_at(cut) is not None:
            return _DEEPER if apart else _LINE
        if self._announces(cut):
            return _CLINGS
        if (item := _ITEM.match(text, cut)) is not None:
            return _DEEPER if item[1] else _ITEMS
        if text[cut : cut + 1].isspace():
            return _LINE
        return _PARAGRAPH if apart or cut in self._begins else _LINE

    def _announces(self, cut: int) -> bool:
        """Whether the line before the cut is a heading, or says what is to follow."""
        text, end = self._text, cut
        nearest = max(0, cut - _NEAR)
        while end > nearest and text[end - 1].isspace():
            end -= 1
        begin = text.rfind("\n", 0, end) + 1
        return end > nearest and (text[end - 1] == ":" or (begin, end) in self._styled)

    def _within_line(self, start: int, end: int, after: int) -> int:
        text = self._text
        sentences = [found.end() for found in _SENTENCE.finditer(text, after, end) if found.end() < end]
        if sentences:
            return untorn(text, start, sentences[-1])
        word = max(text.rfind(" ", after, end), text.rfind("\t", after, end))
        return untorn(text, start, word + 1 if word >= 0 else end)
