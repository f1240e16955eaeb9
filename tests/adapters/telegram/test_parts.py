"""A text that is too long for one message is cut where a person would cut it, and nothing of it is lost."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.telegram.composing import composed
from adapters.telegram.formatted import Formatted, Span
from adapters.telegram.parts import MAX_ENTITIES, parts
from adapters.telegram.text import MAX_UNITS, tears, units

TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from(" \n\n😀e\u0301\u200d👍🏽🇩🇪.:•"), max_size=200)
KINDS = ("bold", "italic", "code", "pre", "text_link")


def cut(text: str, limit: int) -> list[str]:
    return [part.text for part in parts(Formatted(text), limit)]


def shown(source: str) -> list[str]:
    return [part.text for part in composed(source, rich=True)]


@given(TEXTS, st.integers(4, 40))
def test_parts_fit_show_something_and_together_are_the_text(text: str, limit: int) -> None:
    got = cut(text, limit)
    assert all(part.strip() and units(part) <= limit for part in got)
    assert "".join("".join(got).split()) == "".join(text.split())


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.integers(1, 9), st.integers(0, 3)), max_size=300))
def test_what_is_said_of_a_range_is_said_in_each_part(ranges: list[tuple[str, int, int]]) -> None:
    text, spans = "", []
    for kind, length, gap in ranges:
        spans.append(Span(kind, len(text), len(text) + length))
        text += "x" * length + " " * gap
    marked = 0
    for part in parts(Formatted(text, tuple(spans)), 50):
        assert len(part.spans) <= MAX_ENTITIES
        marked += sum(part.text[span.start : span.end].count("x") for span in part.spans)
    assert marked == text.count("x")


def test_a_short_text_stays_whole() -> None:
    assert cut("a\n\nb", 16) == ["a\n\nb"]
    assert cut("  \n ", 16) == []


def test_a_paragraph_is_preferred_to_a_line_a_line_to_a_sentence_and_that_to_a_word() -> None:
    assert cut("aaaa bbbb\n\nccc\nddd eee", 16) == ["aaaa bbbb", "ccc\nddd eee"]
    assert cut("aaa bbb ccc\nddd eee fff", 16) == ["aaa bbb ccc", "ddd eee fff"]
    assert cut("aa aaaaaa bb. cc dddd eee", 20) == ["aa aaaaaa bb.", "cc dddd eee"]
    assert cut("aaaa bbbb cccc dddd", 12) == ["aaaa bbbb", "cccc dddd"]


def test_what_is_seen_as_one_character_is_not_torn() -> None:
    assert cut("xxxxxxx👍🏽", 9) == ["xxxxxxx", "👍🏽"]
    assert cut("xxxxxxxe\u0301", 8) == ["xxxxxxx", "e\u0301"]
    assert cut("xxxx👩\u200d🚀", 7) == ["xxxx", "👩\u200d🚀"]
    assert cut("x🇩🇪🇫🇷", 7) == ["x🇩🇪", "🇫🇷"]


def test_a_limit_that_falls_into_a_surrogate_pair_does_not_break_it() -> None:
    assert cut("😀😀😀", 5) == ["😀😀", "😀"]


@pytest.mark.parametrize(
    "one", ["😀", "👩\u200d👩\u200d👧\u200d👦", "🇩🇪", "1\ufe0f\u20e3", "👍🏽", "e\u0301"], ids=ascii
)
@pytest.mark.parametrize("offset", range(0, 12))
def test_no_emoji_is_torn_at_any_boundary(one: str, offset: int) -> None:
    text = "x" * offset + one * 3000
    end = 0
    for part in shown(text):
        assert units(part) <= MAX_UNITS
        end += len(part)
        assert not tears(text, end)
    assert end == len(text)


FILL = "Some words of a paragraph. " * 60  # about 1,600
LINE = "word " * 20


def test_a_heading_stays_with_what_follows() -> None:
    first, second = shown(f"{FILL}\n\n{FILL}\n\n## A heading\n\n{FILL}")
    assert "A heading" not in first
    assert second.startswith("A heading\n\nSome")


def test_what_announces_a_list_stays_with_it() -> None:
    first, second = shown(f"{FILL}\n\n{FILL}\n\nThese are:\n\n" + "".join(f"- {LINE}\n" for _ in range(12)))
    assert first.endswith("paragraph.")
    assert second.startswith("These are:\n\n•")


def test_an_item_of_a_list_stays_whole() -> None:
    items = "".join(f"- item {n} {LINE}\n  {LINE}\n  - below {n} {LINE}\n" for n in range(40))
    got = shown(items)
    assert len(got) > 2
    assert all(part.startswith("• item") for part in got)


def test_a_row_of_a_table_stays_whole() -> None:
    rows = [f"| row {n:04} | {LINE} |" for n in range(90)]
    got = shown("\n".join(["| a | b |", "|---|---|", *rows]))
    assert len(got) > 2
    assert all(line.startswith(("a ", "--", "row ")) for part in got for line in part.splitlines())


def test_code_that_fits_into_the_next_part_is_not_torn() -> None:
    code = "".join(f"line_{n} = {n}\n" for n in range(150))
    first, second = composed(f"{FILL}\n\n{FILL}\n\nHere it is:\n\n```python\n{code}```\n", rich=True)
    assert "line_" not in first.text
    assert second.text == f"Here it is:\n\n{code.strip()}"
    (entity,) = json.loads(second.markup or "[]")
    assert (entity["type"], entity["language"]) == ("pre", "python")


def test_longer_code_is_cut_between_lines_and_each_part_is_code() -> None:
    code = "".join(f"def f{n}():\n    return {n}\n\n" for n in range(400))
    got = composed(f"Here:\n\n```python\n{code}```\n", rich=True)
    assert len(got) > 2
    assert all(part.text.startswith(("Here:", "def f")) for part in got)
    for part in got:
        (entity,) = json.loads(part.markup or "[]")
        assert (entity["type"], entity["language"]) == ("pre", "python")


def test_code_keeps_what_it_is_set_in_by_where_it_is_cut() -> None:
    got = composed("```\n" + "".join(f"    deep {n} {LINE}\n" for n in range(60)) + "```", rich=True)
    assert len(got) > 1
    assert all(part.text.startswith("    deep") for part in got)


def test_a_hundred_entities_are_enough_for_a_part() -> None:
    got = composed("\n".join(f"- **item {n}** of `many`" for n in range(160)), rich=True)
    assert [len(json.loads(part.markup or "[]")) for part in got] == [100, 100, 100, 20]
    assert all(part.text.startswith("• item") for part in got)
