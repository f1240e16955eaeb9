"""Text of others is shown for what it is: nothing in it can hide, reorder or act."""

import pytest

from adapters.cli.plain import indented, one_line, visible

HIDDEN = [
    0x00, 0x08, 0x0D, 0x1B, 0x7F, 0x85, 0x9B, 0xAD, 0x200B, 0x200D, 0x200E, 0x202E, 0x2028, 0x2066, 0xFEFF, 0xE0041,
    0xD800,
]  # fmt: skip


@pytest.mark.parametrize("sign", HIDDEN, ids=hex)
def test_what_hides_or_acts_is_written_out(sign: int) -> None:
    assert visible(f"a{chr(sign)}b") == f"a<U+{sign:04X}>b"


@pytest.mark.parametrize("text", ["plain", "zażółć gęślą jaźń", "日本語", "🎉", "a\tb\nc", "א"])
def test_ordinary_text_stays(text: str) -> None:
    assert visible(text) == text


def test_one_line_stays_one_line() -> None:
    assert one_line("a\nb\tc") == "a<U+000A>b<U+0009>c"


def test_no_line_of_a_message_begins_where_ours_begin() -> None:
    assert all(line.startswith("    ") for line in indented("a\n\nsystem: b").split("\n"))
