"""Text with what is said of its ranges, as Telegram allows it: what may stand in what, and how much in one message."""

import json
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

STYLES = frozenset({"bold", "italic", "underline", "strikethrough"})
QUOTES = frozenset({"blockquote", "expandable_blockquote"})
CODE = frozenset({"code", "pre"})
LINK = "text_link"
_SET_IN = QUOTES | {"pre"}
_KINDS = STYLES | QUOTES | CODE | {LINK}


@dataclass(frozen=True, slots=True)
class Span:
    """From `start` to before `end`, in characters. `of` is the target of a link or the language of code."""

    kind: str
    start: int
    end: int
    of: str | None = None

    def over(self, start: int, end: int) -> "Span":
        """The same of another range."""
        return self if (start, end) == (self.start, self.end) else Span(self.kind, start, end, self.of)


@dataclass(frozen=True, slots=True)
class Formatted:
    """Its spans are sorted by where they begin."""

    text: str
    spans: tuple[Span, ...] = ()

    def cut(self, start: int, end: int) -> "Formatted":
        """What stands from `start` to `end`, without the white space around it, which Telegram does not show; but code
        keeps what it is set in by."""
        text = self.text
        set_in = any(span.kind == "pre" and span.start <= start < span.end for span in self.spans)
        while end > start and text[end - 1].isspace():
            end -= 1
        while start < end and (text[start] in "\r\n" or (text[start].isspace() and not set_in)):
            start += 1
        reached = self.spans[: bisect_left(self.spans, end, key=_start)]
        moved = (
            span.over(max(span.start - start, 0), min(span.end, end) - start) for span in reached if span.end > start
        )
        return Formatted(
            text[start:end], tuple(span for span in moved if text[start:end][span.start : span.end].strip())
        )

    def entities(self) -> str | None:
        """As the Bot API takes them; None where there are none."""
        if not self.spans:
            return None
        at = list(accumulate((1 if char <= "\uffff" else 2 for char in self.text), initial=0))
        return json.dumps(
            [
                {"type": span.kind, "offset": at[span.start], "length": at[span.end] - at[span.start], **_said(span)}
                for span in self.spans
            ],
            ensure_ascii=False,
            separators=(",", ":"),
        )


def _start(span: Span) -> int:
    return span.start


def _said(span: Span) -> Mapping[str, str]:
    if span.of is None:
        return {}
    return {"url": span.of} if span.kind == LINK else {"language": span.of} if span.kind == "pre" else {}


def allowed(text: str, spans: Iterable[Span]) -> tuple[Span, ...]:
    """The same as far as Telegram allows it: nothing within code, no code within a link, no quote within a quote,
    nothing twice, and nothing that shows nowhere. Styles go on around what cannot have them."""
    known = [_trimmed(text, span) for span in spans if span.kind in _KINDS]
    shown = sorted((span for span in known if span.end > span.start), key=lambda one: (one.start, -one.end))
    quotes = _apart([span for span in shown if span.kind in QUOTES])
    links = _apart([span for span in shown if span.kind == LINK])
    code = _apart([*links, *(span for span in shown if span.kind in CODE)])
    bare = [span for span in code if span.kind in CODE]
    styles = [
        _trimmed(text, part)
        for kind in sorted(STYLES)
        for span in _merged([span for span in shown if span.kind == kind])
        for part in _around(span, bare)
    ]
    return tuple(
        sorted((one for one in (*quotes, *code, *styles) if one.end > one.start), key=lambda one: (one.start, -one.end))
    )


def _trimmed(text: str, span: Span) -> Span:
    """Without white space around it; code keeps what it is set in by, and a quote what it has of that."""
    start, end = span.start, span.end
    while end > start and text[end - 1].isspace():
        end -= 1
    while start < end and (text[start] in "\r\n" or (span.kind not in _SET_IN and text[start].isspace())):
        start += 1
    return span.over(start, end)


def _apart(spans: Sequence[Span]) -> list[Span]:
    """Of those that overlap the first given."""
    taken: list[Span] = []
    for span in spans:
        where = bisect_right(taken, span.start, key=_start)
        before, after = taken[where - 1] if where else None, taken[where] if where < len(taken) else None
        if (before is None or before.end <= span.start) and (after is None or span.end <= after.start):
            taken.insert(where, span)
    return taken


def _merged(spans: Sequence[Span]) -> list[Span]:
    merged: list[Span] = []
    for span in spans:
        if merged and span.start < merged[-1].end:
            merged[-1] = merged[-1].over(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


def _around(span: Span, holes: Sequence[Span]) -> list[Span]:
    """What is left of it around those."""
    first = max(0, bisect_right(holes, span.start, key=_start) - 1)
    edges = [span.start]
    for hole in holes[first:]:
        if hole.start >= span.end:
            break
        if hole.end > span.start:
            edges += [max(hole.start, span.start), min(hole.end, span.end)]
    edges.append(span.end)
    return [span.over(start, end) for start, end in list(pairwise(edges))[::2]]
