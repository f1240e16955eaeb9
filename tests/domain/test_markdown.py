"""Words that are not the bridge's own stand in its Markdown without becoming part of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.telegram.composing import composed
from bridge.markdown import code, escaped, unescaped

ODD = st.text(st.sampled_from("ab1 \n\t#>*_`~|[]()<>!\\&;$-+.:=\"'😀/@"), max_size=40)
INSIDE = ["{}", "**{}**", "- {}", "> {}", "# {}", "1. {}", "a {} b", "[{}](http://a.io)"]


@given(ODD)
def test_what_is_escaped_shows_as_itself(text: str) -> None:
    shown = composed(escaped(text), rich=True)
    assert "".join(part.text for part in shown).strip() == text.strip()
    assert all(part.markup is None for part in shown)


@given(ODD, st.sampled_from(INSIDE))
def test_what_is_escaped_stays_where_it_is_put(text: str, around: str) -> None:
    def shown(what: str) -> str:
        return "".join("".join(part.text for part in composed(around.format(what), rich=True)).split())

    assert shown(escaped(f"x{text}x")) == shown("word").replace("word", "".join(f"x{text}x".split()))


@given(ODD)
def test_escaping_is_undone_where_markdown_is_shown_as_it_is_written(text: str) -> None:
    assert unescaped(escaped(text)) == text


def test_nothing_else_is_undone() -> None:
    assert unescaped("&lt; &#27; &#955; &amp;#42; a\\*") == "&lt; &#27; &#955; &amp;#42; a\\*"


@pytest.mark.parametrize("text", ["a", "a`b", "`", "``a``", " a\nb ", "*x* <b>", "```"])
def test_code_shows_as_one_line(text: str) -> None:
    (shown,) = composed(f"see {code(text)} there", rich=True)
    assert shown.text == f"see {' '.join(text.split())} there"
    assert shown.markup is not None


def test_no_code_is_nothing() -> None:
    assert code(" \n") == ""
