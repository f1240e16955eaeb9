"""Every key is found on its line, whatever valid TOML is around it."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.settings.lines import lines_of

TEXT = '''\
# a comment with a = "key" and [a.table]
top = "a # no comment" # a comment
dotted . "quoted key" = 1

[table] # comment
text = """
[no.table]
key = 1 \\""" still
"""
raw = \'\'\'
x = 1\'\'\'
list = [ # comment
  "one", "two", # "three"
  [1, 2],
  { a = 1, b.c = [2,
    3] },
]
inline = {x = {y = 1}, "z" = \'\\\'}
when = 2026-01-01 10:00:00
last = true
[ table . sub ]
"key" = 1
[[rules]]
from = "x"
[[rules]]
from = "y"
[rules.below]
deep = 1
[[rules.list]]
a = 1
[[rules.list]]
a = 2'''


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("top",), 2),
        (("dotted",), 3),
        (("dotted", "quoted key"), 3),
        (("table",), 5),
        (("table", "text"), 6),
        (("table", "raw"), 10),
        (("table", "list"), 12),
        (("table", "list", 0), 13),
        (("table", "list", 1), 13),
        (("table", "list", 2, 1), 14),
        (("table", "list", 3, "a"), 15),
        (("table", "list", 3, "b", "c", 1), 16),
        (("table", "inline", "x", "y"), 18),
        (("table", "inline", "z"), 18),
        (("table", "when"), 19),
        (("table", "last"), 20),
        (("table", "sub"), 21),
        (("table", "sub", "key"), 22),
        (("rules",), 23),
        (("rules", 0), 23),
        (("rules", 0, "from"), 24),
        (("rules", 1), 25),
        (("rules", 1, "from"), 26),
        (("rules", 1, "below", "deep"), 28),
        (("rules", 1, "list", 0, "a"), 30),
        (("rules", 1, "list", 1, "a"), 32),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_key_has_the_line_on_which_it_is_written(path: tuple[str | int, ...], line: int, newline: str) -> None:
    assert lines_of(TEXT.replace("\n", newline))[path] == line


def test_nothing_but_the_keys_of_the_text_is_found() -> None:
    assert set(lines_of(TEXT)) == set(_paths(tomllib.loads(TEXT)))


def test_an_empty_text_has_no_lines() -> None:
    assert lines_of("") == {}
    assert lines_of("# only a comment") == {}


texts = st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=8)
scalars = st.integers() | st.booleans() | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=6
)


@given(st.dictionaries(texts, values, max_size=5), st.booleans())
def test_the_walk_sees_what_the_parser_sees(table: dict[str, object], in_lines: bool) -> None:
    text = "\n".join(f"{_written(key)} = {_written(value, in_lines)}" for key, value in table.items())
    assert set(lines_of(text)) == set(_paths(tomllib.loads(text)))


def _written(value: object, in_lines: bool = False) -> str:
    if isinstance(value, str):
        return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
    if isinstance(value, list):
        return "[" + (",\n # ]\n" if in_lines else ", ").join(_written(each, in_lines) for each in value) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_written(key)} = {_written(each, in_lines)}" for key, each in value.items()) + "}"
    return str(value).lower()


def _paths(value: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    items: list[tuple[str | int, object]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    found = [path] if path else []
    for key, each in items:
        found += _paths(each, (*path, key))
    return found
