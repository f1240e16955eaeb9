"""Moves a place within the store in memory, as `Change.moved` says."""

from collections.abc import Iterator, MutableMapping
from dataclasses import replace
from typing import Any

from bridge.conversation import Conversation
from bridge.errors import Conflict
from bridge.ids import Place
from bridge.message import Message
from bridge.move import Move
from bridge.post import Post
from bridge.request import Request
from bridge.session import Binding
from bridge.turn import Turn

_AT_PLACES = (Message, Request, Turn, Conversation, Post)

_Kept = MutableMapping[type, dict[object, Any]]


def check(kept: _Kept, move: Move) -> None:
    known = kept[Move].get(move.old)
    if known is not None and known.new != move.new:
        raise Conflict(f"{move.old} has moved to {known.new} already")


def moved(kept: _Kept, move: Move) -> Iterator[tuple[type, Any]]:
    """What is at the old place, as it is to be, each with its kind. The bindings and the moves are changed at once."""
    _remember(kept[Move], move)
    _bind(kept[Binding], move)
    for kind in _AT_PLACES:
        for row in [*kept[kind].values()]:
            if row.place == move.old:
                changed = row.moved(move.new) if isinstance(row, Post) else replace(row, place=move.new)
                yield kind, replace(changed, version=row.version + 1)


def _remember(moves: dict[object, Any], move: Move) -> None:
    moves.pop(move.new, None)
    for old, earlier in [*moves.items()]:
        if earlier.new == move.old:
            moves[old] = replace(earlier, new=move.new)
    moves.setdefault(move.old, move)


def _bind(bindings: dict[object, Any], move: Move) -> None:
    old: Binding | None = bindings.pop(move.old, None)
    there: Binding | None = bindings.get(move.new)
    if old is not None and (there is None or there.session is None):
        bindings[Place(move.new)] = replace(old, place=move.new, gone_at=None, version=old.version + 1)
