"""Where the store in memory finds rows without looking at everything."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

from bridge.approval import Approval
from bridge.message import Message, State
from bridge.post import Post, PostState
from bridge.request import Request
from bridge.session import Session
from bridge.token import Token
from bridge.turn import Turn

GOING = "going"
"""The group of the rows of a kind that are not over."""

_NONE: Mapping[object, Any] = {}


class Index:
    """Groups of rows: of each kind those that are not over, and those of one recipient, turn,
    session, parent or key."""

    def __init__(self) -> None:
        self._groups: dict[tuple[type, object], dict[object, Any]] = defaultdict(dict)

    def rows(self, kind: type, group: object) -> Mapping[object, Any]:
        return self._groups.get((kind, group), _NONE)

    def move(self, key: object, before: Any, after: Any) -> None:
        """A row has become another one. None stands for one that is not there."""
        for group in _groups_of(before):
            del self._groups[group][key]
        for group in _groups_of(after):
            self._groups[group][key] = after


def _groups_of(row: Any) -> Iterator[tuple[type, object]]:
    match row:
        case Message():
            yield Message, row.recipient
            if row.turn is not None:
                yield Message, ("turn", row.turn)
            going = row.state is not State.SETTLED
        case Request():
            yield Request, row.parent
            going = row.open
        case Post():
            yield Post, row.key
            going = row.state is PostState.PENDING
        case Turn():
            yield Turn, row.session
            going = row.live
        case Approval():
            going = row.open
        case Token():
            going = row.holds
        case Session():
            going = row.parent is not None and row.closed_at is None
        case _:
            return
    if going:
        yield type(row), GOING
