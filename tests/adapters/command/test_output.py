"""Paths into a command's objects, and the line that tells which context it is."""

import json

import pytest

from adapters.command.output import BadPath, Output, Path
from adapters.command.template import Template


@pytest.mark.parametrize(
    ("path", "told", "found"),
    [
        ("result", {"result": "x"}, ["x"]),
        ("result", {"result": 3}, []),
        ("a.b", {"a": {"b": "x"}}, ["x"]),
        ("a.b", {"a": "b"}, []),
        ("[type=result].result", {"type": "result", "result": "x"}, ["x"]),
        ("[type=result].result", {"type": "other", "result": "x"}, []),
        ("item[type=a.b].text", {"item": {"type": "a.b", "text": "x"}}, ["x"]),
        ("item[type=message][ok=true].text", {"item": {"type": "message", "ok": True, "text": "x"}}, ["x"]),
        ("message.content[type=text].text", {"message": {"content": [{"type": "text", "text": "x"}, {}]}}, ["x"]),
        ("result", [{"result": "x"}], ["x"]),
        ("result", "x", []),
        ("result", None, []),
    ],
)
def test_what_a_path_leads_to(path: str, told: object, found: list[str]) -> None:
    assert Path(path).found(told) == found


@pytest.mark.parametrize("path", ["", ".", "a.", "a[b", "a[b]", "a[=b]", "a]b"])
def test_what_is_no_path(path: str) -> None:
    with pytest.raises(BadPath):
        Path(path)


@pytest.mark.parametrize("ident", ["--dangerous", "a b", "a;b", "../x", "", "x" * 201, "$(x)"])
def test_what_could_be_more_than_an_id_is_none(ident: str) -> None:
    said: list[str] = []
    text = Output(Template(("x",), session="id: (.*)"), said.append, said.append)
    text.line(f"id: {ident}\n")
    text.aside(f"id: {ident}\n")
    objects = Output(Template(("x",), output="json", text="t", session="id"), said.append, said.append)
    objects.line(json.dumps({"id": ident}))
    assert (text.session, objects.session) == (None, None)
    assert said == [f"id: {ident}\n"]


def test_the_line_that_tells_the_context_is_not_said() -> None:
    said: list[str] = []
    output = Output(Template(("x",), session="id: (.*)"), said.append, said.append)
    for line in ("hello\n", "id: one-1\n", "the id: two\n"):
        output.line(line)
    assert (output.session, said) == ("one-1", ["hello\n", "the id: two\n"])
