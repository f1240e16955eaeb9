"""JSON with comments, changed in its text: what is not changed stays as it is, to the last blank.

A member or an item is put first, where no comment and no comma of others is in the way, so that taking it out again
leaves the text as it was.
"""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

_BLANK = re.compile(r"(?:\s+|//[^\n]*|/\*.*?\*/)*", re.S)
_SCALAR = re.compile(r"[^\s,\]}/]+")
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
_REMARK = re.compile(rf"{_STRING.pattern}|'[^'\n]*'|(//[^\n]*|/\*.*?\*/|#[^\n]*)", re.S)


class Unreadable(ValueError):
    """The text is no JSON, comments or not."""


class Node(NamedTuple):
    """A value and where it stands. `parts` are its members or items: key, where key or item begins, and node."""

    value: Any
    start: int
    end: int
    parts: "list[tuple[str | None, int, Node]]"

    def get(self, key: str) -> "Node | None":
        return next((node for name, _, node in self.parts if name == key), None)


def parsed(text: str) -> Node:
    """Raises `Unreadable`."""
    try:
        start = _blank(text, 0)
        node = _node(text, start)
        if _blank(text, node.end) != len(text):
            raise Unreadable("there is something after its end")
    except (IndexError, RecursionError) as error:
        raise Unreadable("it ends too early") from error
    return node


def remarks(text: str) -> set[str]:
    """The comments in a text, which may be TOML, too."""
    return {" ".join(found[1].split()) for found in _REMARK.finditer(text) if found[1]}


def put(text: str, path: list[str], value: Any) -> str:
    """The text with `value` at `path`, whose objects are made where they are not there. One that is there stays."""
    node = parsed(text) if text.strip() else None
    if node is None:
        return put("{}\n", path, value)
    depth = 0
    while depth < len(path) and (below := _object(node).get(path[depth])) is not None:
        node, depth = below, depth + 1
    if depth == len(path):
        return text
    _object(node)
    for key in reversed(path[depth + 1 :]):
        value = {key: value}
    return _first(text, node, f"{json.dumps(path[depth])}: ", value, depth)


def add(text: str, path: list[str], item: Any) -> str:
    """The text with `item` as the first of the list at `path`, which is made where it is not there."""
    text = put(text, path, [])
    node = parsed(text)
    for key in path:
        found = node.get(key)
        assert found is not None
        node = found
    if not isinstance(node.value, list):
        raise Unreadable(f"{'.'.join(path)} is no list")
    return _first(text, node, "", item, len(path))


def taken(text: str, path: Sequence[str | int], index: int | None = None) -> str:
    """The text without what is at `path`, or without an item of the list there."""
    node = parsed(text)
    for key in path[:-1] if index is None else path:
        found = node.get(key) if isinstance(key, str) else node.parts[key][2]
        if found is None:
            return text
        node = found
    parts = node.parts
    at = index if index is not None else next((n for n, part in enumerate(parts) if part[0] == path[-1]), None)
    if at is None or at >= len(parts):
        return text
    _, start, child = parts[at]
    before = len(text[:start].rstrip())
    comma = _blank(text, child.end)
    if text[comma] == ",":
        return text[:before] + text[comma + 1 :]
    if at > 0:
        before = parts[at - 1][2].end
        return text[:before] + text[before : text.index(",", before)] + text[child.end :]
    return text[:before] + text[_only_blank(text, child.end) :]


def _only_blank(text: str, at: int) -> int:
    match = re.compile(r"\s*").match(text, at)
    return match.end() if match else at


def _first(text: str, node: Node, key: str, value: Any, depth: int) -> str:
    indent = "  " * (depth + 1)
    shown = json.dumps(value, indent=2).replace("\n", f"\n{indent}")
    rest = "," if node.parts else f"\n{'  ' * depth}"
    at = node.start + 1
    if not node.parts and not text[at : node.end - 1].strip():
        return f"{text[:at]}\n{indent}{key}{shown}{rest}{text[node.end - 1 :]}"
    return f"{text[:at]}\n{indent}{key}{shown}{rest}{text[at:]}"


def _object(node: Node) -> Node:
    if not isinstance(node.value, dict):
        raise Unreadable("an object was expected")
    return node


def _blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


def _node(text: str, at: int) -> Node:
    if text[at] == "{":
        return _parts(text, at, "}", keyed=True)
    if text[at] == "[":
        return _parts(text, at, "]", keyed=False)
    match = (_STRING if text[at] == '"' else _SCALAR).match(text, at)
    if match is None:
        raise Unreadable(f"nothing readable stands at character {at}")
    try:
        return Node(json.loads(match[0]), at, match.end(), [])
    except ValueError as error:
        raise Unreadable(str(error)) from None


def _parts(text: str, start: int, closing: str, *, keyed: bool) -> Node:
    parts: list[tuple[str | None, int, Node]] = []
    at = _blank(text, start + 1)
    while text[at] != closing:
        begins, key = at, None
        if keyed:
            name = _node(text, at)
            at = _blank(text, name.end)
            if not isinstance(name.value, str) or text[at] != ":":
                raise Unreadable(f"a key was expected at character {begins}")
            key, at = name.value, _blank(text, at + 1)
        child = _node(text, at)
        parts.append((key, begins, child))
        at = _blank(text, child.end)
        if text[at] == ",":
            at = _blank(text, at + 1)
        elif text[at] != closing:
            raise Unreadable(f"a comma was expected at character {at}")
    value: Any = {key: node.value for key, _, node in parts} if keyed else [node.value for _, _, node in parts]
    return Node(value, start, at + 1, parts)
