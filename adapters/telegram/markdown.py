"""Markdown as text with entities, by telegramify-markdown."""

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from adapters.telegram.formatted import CODE, LINK, QUOTES, Formatted, Span, allowed
from adapters.telegram.meant import BREAKS, MARKS, Mark, Meant, meant, put_back
from adapters.telegram.text import visible

if TYPE_CHECKING:
    from telegramify_markdown import RenderConfig

_WITH_HOST = ("http", "https")
_WITHOUT_HOST = ("tg", "mailto")
_LONGEST_TARGET = 2000
_LONG_QUOTE = 400
_MANY_LINES = 6

_Edit = tuple[int, int, str]
"""From, to before, and what is to stand there."""


def rendered(source: str) -> Formatted:
    """What Markdown shows. Nothing that can be seen in `source` is missing but the signs that make its structure."""
    given = meant(source)
    formatted = _rendered(given)
    if given.defined - {span.of for span in formatted.spans if span.kind == LINK}:
        return _rendered(meant(source, define=False))
    return formatted


def _rendered(given: Meant) -> Formatted:
    from telegramify_markdown import convert  # noqa: PLC0415 - slow to load, so not before it is needed

    converted, entities = convert(given.markdown, latex_escape=False, config=_config())
    text = put_back(converted)
    where = _characters(text)
    spans = [
        Span(
            one.type, where(one.offset), where(one.offset + one.length), put_back(one.url or one.language or "") or None
        )
        for one in entities
    ]
    edits = sorted([*_marks(text, spans, given.numbers), *_targets(text, spans)])
    text, spans = _edited(text, (span for span in spans if span.kind != LINK or _opens(span.of or "")), edits)
    text = visible(text)
    return Formatted(text, allowed(text, (_quote(text, span) for span in spans)))


@cache
def _config() -> "RenderConfig":
    from telegramify_markdown import RenderConfig  # noqa: PLC0415 - as above

    config = RenderConfig.isolated()
    config.cite_expandable = False
    signs = config.markdown_symbol
    signs.heading_level_1 = signs.heading_level_2 = signs.heading_level_3 = signs.heading_level_4 = ""
    signs.unordered_list_item, signs.ordered_list_suffix = "•", Mark.NUMBER
    signs.task_completed, signs.task_uncompleted = f"{Mark.NUMBER}☑", f"{Mark.NUMBER}☐"
    signs.image = "🖼 "
    return config


def _characters(text: str) -> Callable[[int], int]:
    """What counts characters, given how many units of UTF-16 they are."""
    if all(char <= "\uffff" for char in text):
        return lambda unit: unit
    ends = list(accumulate((1 if char <= "\uffff" else 2 for char in text), initial=0))
    return lambda unit: bisect_left(ends, unit)


def _marks(text: str, spans: Sequence[Span], numbers: Sequence[str]) -> Iterator[_Edit]:
    """What stands instead of the marks, now that it is known what is around them."""
    found = list(MARKS.finditer(text))
    counted = sum(1 for one in found if one[0][-1] == Mark.NUMBER) == len(numbers)
    number = iter(numbers)
    code = [span for span in spans if span.kind in CODE]
    starts = [span.start for span in code]
    links = {(span.start, span.end): span.of or "" for span in spans if span.kind == LINK}
    for one in found:
        start, end = one.span()
        where = bisect_right(starts, start) - 1
        in_code = where >= 0 and start < code[where].end
        match one[0][-1]:
            case Mark.NUMBER:
                yield start, end, next(number) if counted else one[0][:-1] and f"{one[0][:-1]}."
            case Mark.BAR:
                yield start, end, "" if text[start - 1 : start] == text[end : end + 1] == "|" else " "
            case Mark.BLANK:
                yield start, end, links.get((start, end), "") if _opens(links.get((start, end), "")) else ""
            case Mark.ESCAPED:
                yield start, end, "\\<" if in_code else "<"
            case Mark.NO_TABLE:
                yield start, end, ""
            case broken:
                yield start, end, BREAKS[Mark(broken)] if in_code else "\n"


def _targets(text: str, spans: Iterable[Span]) -> Iterator[_Edit]:
    """A target that nothing opens is written behind its link."""
    for span in spans:
        if span.kind == LINK and span.of and not _opens(span.of) and span.of != text[span.start : span.end]:
            yield span.end, span.end, f" ({span.of})"


def _opens(target: str) -> bool:
    """Whether Telegram makes a link of it."""
    try:
        url = urlsplit(target)
        opens = url.scheme in _WITHOUT_HOST or (url.scheme in _WITH_HOST and "." in (url.hostname or "").strip("."))
    except ValueError:
        return False
    return opens and len(target) <= _LONGEST_TARGET


def _edited(text: str, spans: Iterable[Span], edits: Sequence[_Edit]) -> tuple[str, list[Span]]:
    """What ends where something is put in ends before it, and what begins there begins behind it."""
    pieces, at = [], 0
    for start, end, instead in edits:
        pieces += [text[at:start], instead]
        at = end
    longer = list(accumulate((len(instead) - (end - start) for start, end, instead in edits), initial=0))
    starts = [end for _, end, _ in edits]
    ends = [end if end > start else end + 0.5 for start, end, _ in edits]
    moved = [
        span.over(
            span.start + longer[bisect_right(starts, span.start)], span.end + longer[bisect_right(ends, span.end)]
        )
        for span in spans
    ]
    return "".join([*pieces, text[at:]]), moved


def _quote(text: str, span: Span) -> Span:
    """A long one is shown folded."""
    if span.kind not in QUOTES:
        return span
    long = span.end - span.start > _LONG_QUOTE or text.count("\n", span.start, span.end) > _MANY_LINES
    return replace(span, kind="expandable_blockquote" if long else "blockquote")
