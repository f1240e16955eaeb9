"""Long texts are cut where people would cut them, and nothing of them is lost."""

from hypothesis import given
from hypothesis import strategies as st

from adapters.telegram.text import split, units, visible

TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from(" \n\n😀e\u0301\u200d👍🏽"), max_size=200)


@given(TEXTS, st.integers(4, 40))
def test_parts_fit_are_not_blank_and_together_are_the_text(text: str, limit: int) -> None:
    parts = split(text, limit)
    assert all(part.strip() and units(part) <= limit for part in parts)
    assert "".join("".join(parts).split()) == "".join(text.split())


@given(TEXTS)
def test_units_are_those_of_utf_16(text: str) -> None:
    assert units(text) == len(text.encode("utf-16-le")) // 2


@given(TEXTS)
def test_making_visible_keeps_the_length(text: str) -> None:
    assert units(visible(text)) == units(text)
    assert visible(visible(text)) == visible(text)


def test_a_short_text_stays_whole() -> None:
    assert split("a\n\nb") == ["a\n\nb"]
    assert split("  \n ") == []


def test_a_paragraph_is_preferred_to_a_line_and_a_line_to_a_word() -> None:
    assert split("aaaa bbbb\n\nccc\nddd eee", 16) == ["aaaa bbbb\n\n", "ccc\nddd eee"]
    assert split("aaa bbb ccc\nddd eee fff", 16) == ["aaa bbb ccc\n", "ddd eee fff"]
    assert split("aaaa bbbb cccc dddd", 12) == ["aaaa bbbb ", "cccc dddd"]


def test_what_is_seen_as_one_character_is_not_torn() -> None:
    assert split("xxxxxxx👍🏽", 9) == ["xxxxxxx", "👍🏽"]
    assert split("xxxxxxxe\u0301", 8) == ["xxxxxxx", "e\u0301"]
    assert split("xxxx👩\u200d🚀", 7) == ["xxxx", "👩\u200d🚀"]


def test_a_limit_that_falls_into_a_surrogate_pair_does_not_break_it() -> None:
    assert split("😀😀😀", 5) == ["😀😀", "😀"]
