"""Text is counted as Telegram counts it, and nothing in it is hidden or torn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.telegram.text import fitting, tears, units, untorn, visible

TEXTS = st.text(st.characters(codec="utf-8") | st.sampled_from(" \n\n😀e\u0301\u200d👍🏽🇩🇪"), max_size=200)


@given(TEXTS)
def test_units_are_those_of_utf_16(text: str) -> None:
    assert units(text) == len(text.encode("utf-16-le")) // 2


@given(st.text(st.characters(), max_size=100))
def test_making_visible_keeps_the_length_and_is_done_once(text: str) -> None:
    assert len(visible(text)) == len(text)
    assert visible(visible(text)) == visible(text)


@pytest.mark.parametrize(
    ("text", "seen"),
    [
        ("\x1b[1m\x07", "␛[1m␇"),
        ("a\u202eb\u2066c\u200fd\u061c", "a\ufffdb\ufffdc\ufffdd\ufffd"),
        ("a\u200bb\u2060c\ufeffd\xade\u3164", "a\ufffdb\ufffdc\ufffdd\ufffde\ufffd"),
        ("a\U000e0068\U000e0069", "a\ufffd\ufffd"),
        ("\ud800\ufdd0", "\ufffd\ufffd"),
        ("🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f", None),
        ("👩\u200d🚀 می\u200cخواهم ❤\ufe0f\ta\n", None),
    ],
)
def test_what_cannot_be_seen_is_shown_and_what_makes_letters_and_emoji_stays(text: str, seen: str | None) -> None:
    assert visible(text) == (text if seen is None else seen)


@given(TEXTS.filter(bool), st.integers(2, 40))
def test_as_much_fits_as_can(text: str, limit: int) -> None:
    end = fitting(text, 0, limit)
    assert units(text[:end]) <= limit
    assert end == len(text) or units(text[: end + 1]) > limit


@pytest.mark.parametrize(
    "one",
    [
        "👍🏽",
        "e\u0301",
        "👩\u200d🚀",
        "🇩🇪",
        "1\ufe0f\u20e3",
        "❤\ufe0f",
        "\r\n",
        "🏴\U000e0067\U000e0062\U000e007f",
        "\u1112\u1161\u11ab",
    ],
    ids=ascii,
)
def test_what_is_seen_as_one_character_is_not_torn(one: str) -> None:
    text = f"xxxxxxx{one}{one}"
    inside = [cut for cut in range(len(text) + 1) if tears(text, cut)]
    assert inside == [cut for cut in range(8, len(text)) if cut != 7 + len(one)]
    assert untorn(text, 0, 7 + len(one) + 1) == 7 + len(one)


def test_flags_are_told_apart_by_their_number() -> None:
    assert [cut for cut in range(7) if tears("🇩🇪🇫🇷🇪🇸", cut)] == [1, 3, 5]


def test_what_is_joined_without_end_is_torn_at_last() -> None:
    assert untorn("e" + "\u0301" * 100, 0, 50) == 50
