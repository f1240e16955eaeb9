"""Markdown is shown as Telegram can show it. Whatever it is, nothing of it is lost, and Telegram takes it."""

import json
import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.telegram.composing import MOST_RICH, composed
from adapters.telegram.parts import MAX_ENTITIES
from adapters.telegram.text import MAX_UNITS, units, visible
from bridge.post import Part
from tests.fakes.bot_api.entities import parse
from tests.fakes.bot_api.world import Entity

WORDS = ["word", "Zwei", "trois", "😀", "e\u0301", "שלום", "中文", "a_b", "7", "C:\\q"]
SIGNS = [
    *"*_`~|[]()<>!#>-+\\$^&;:=\"'.,/@ \n\t",
    "**",
    "__",
    "~~",
    "||",
    "```",
    "~~~",
    "$$",
    "<b>",
    "![",
    "](",
    "[^",
    "]:",
]
BLOCKS = [
    "\n\n",
    "\n- ",
    "\n1. ",
    "\n7) ",
    "\n> ",
    "\n# ",
    "\n---\n",
    "\n    ",
    "\n```\n",
    "\n| ",
    " | ",
    "\n|---|---|\n",
]
LINKS = ["[word](to/it)", "[word](https://a.io/b)", "<https://a.io>", "[word]: https://a.io\n", "[word]", "- [ ] "]
SOUP = st.lists(st.sampled_from(WORDS + SIGNS + BLOCKS + LINKS), max_size=40).map("".join)
ANYTHING = st.text(st.characters() | st.sampled_from("".join(WORDS + SIGNS)), max_size=200)


def entities(part: Part) -> list[Entity]:
    known = json.loads(part.markup or "[]")
    return [Entity(one["type"], one["offset"], one["length"], one.get("url") or one.get("language")) for one in known]


def letters(text: str) -> Counter[str]:
    return Counter(char for char in text if char.isalnum())


def reckoned(source: str) -> str:
    """Without what is behind a link: its target, and the name by which it is found."""
    return re.sub(r"https?://[\w./]*", "", source).replace("[word]:", ":").replace("][word]", "]")


@given(SOUP)
def test_no_letter_of_markdown_is_lost(source: str) -> None:
    parts = composed(source, rich=True)
    shown = "".join(part.text for part in parts)
    told = "".join(entity.more or "" for part in parts for entity in entities(part))
    assert letters(reckoned(source)) <= letters(shown + told)


@given(SOUP | ANYTHING, st.booleans())
def test_telegram_takes_every_part_as_it_is(source: str, rich: bool) -> None:
    for part in composed(source, rich=rich):
        asked = entities(part)
        text, kept, losses = parse(part.text, asked)
        assert losses == []
        assert (text, kept) == (part.text, asked)
        assert text == visible(text)
        assert units(text) <= MAX_UNITS
        assert len(asked) <= MAX_ENTITIES


@given(ANYTHING)
def test_what_is_plain_is_shown_as_it_is(text: str) -> None:
    parts = composed(text, rich=False)
    assert "".join("".join(part.text for part in parts).split()) == "".join(visible(text).split())
    assert all(part.markup is None for part in parts)


def marked(source: str) -> list[tuple[str, str, str | None]]:
    """Each entity with the text that it is of."""
    (part,) = composed(source, rich=True)
    text = part.text.encode("utf-16-le")
    return [(one.type, text[2 * one.offset : 2 * one.end].decode("utf-16-le"), one.more) for one in entities(part)]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("😀 **b** *i* ~~s~~ `c`", [("bold", "b"), ("italic", "i"), ("strikethrough", "s"), ("code", "c")]),
        ("# One", [("bold", "One"), ("underline", "One")]),
        ("### **Three**", [("bold", "Three")]),
        ("**a `b` c**", [("bold", "a"), ("code", "b"), ("bold", "c")]),
        ("***a* b**", [("bold", "a b"), ("italic", "a")]),
        ("> a\n> > b", [("blockquote", "a\nb")]),
        ("> " + "long " * 100, [("expandable_blockquote", ("long " * 100).strip())]),
        ("> a\n>\n> ```\n> c\n> ```", [("blockquote", "a\n\nc"), ("pre", "c")]),
        ("| a | b |\n|---|---|\n| c | d |", [("pre", "a | b\n--+--\nc | d")]),
        ("    set in", [("pre", "set in")]),
    ],
)
def test_what_is_marked_is_formatted(source: str, expected: list[tuple[str, str]]) -> None:
    assert [(kind, text) for kind, text, _ in marked(source)] == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("[`a`](https://a.io)", [("text_link", "a", "https://a.io")]),
        ("[a](https://a.io/__init__.py?x=$1&y=~2)", [("text_link", "a", "https://a.io/__init__.py?x=$1&y=~2")]),
        ("[u](tg://user?id=1)", [("text_link", "u", "tg://user?id=1")]),
        ("[m](mailto:a@b.io)", [("text_link", "m", "mailto:a@b.io")]),
        ("[a](b.md) [c](javascript:x) [d](//e.io) [f](http://g)", []),
        ("```c++\nx\n```", [("pre", "x", "c++")]),
        ("```\nx\n```", [("pre", "x", None)]),
        ("![👍](tg://emoji?id=5368324170671202286)", []),
    ],
)
def test_links_lead_somewhere_and_code_has_its_language(source: str, expected: list[tuple[str, str, str]]) -> None:
    assert marked(source) == expected


@pytest.mark.parametrize(
    "source",
    [
        "**word** " * (MOST_RICH // 9 + 1),
        "- " * 300 + "deep",
        "*" * 20_000,
    ],
    ids=["long", "deep", "full of signs"],
)
def test_what_would_take_too_long_is_shown_as_it_was_written(source: str) -> None:
    parts = composed(source, rich=True)
    assert "".join("".join(part.text for part in parts).split()) == "".join(source.split())
    assert all(part.markup is None for part in parts)


def test_a_defect_of_the_renderer_costs_the_formatting_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*given: object, **named: object) -> None:
        raise ValueError("a bug")

    monkeypatch.setattr("telegramify_markdown.convert", broken)
    assert composed("**a**", rich=True) == [Part("**a**")]
