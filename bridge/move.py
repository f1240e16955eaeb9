"""Moves: a place that goes on under another name, and what still names the old one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from bridge.ids import Place


class Why(StrEnum):
    MIGRATED = "migrated"
    """Its chat has given it another name."""
    RECREATED = "recreated"
    """Its topic was deleted, and the bridge has made another one in its stead: once, and not again for that one."""


@dataclass(frozen=True, slots=True)
class Move:
    """Whatever names `old` means `new` from then on, the operator's file too."""

    old: Place
    new: Place
    at: float
    why: Why


def followed(moves: Iterable[Move]) -> Mapping[Place, Place]:
    """Where each place that has moved is now."""
    return {move.old: move.new for move in moves}
