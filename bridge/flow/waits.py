"""Who is blocked waiting for whom: the only waits that can close a circle (DESIGN §3, Loop guard)."""

from collections import Counter
from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager

from bridge.ids import SessionId
from bridge.loops import closes_circle


class Waits:
    def __init__(self) -> None:
        self._edges: Counter[tuple[SessionId, SessionId]] = Counter()

    @contextmanager
    def blocked(self, asker: SessionId, asked: SessionId) -> Iterator[bool]:
        """A wait of `asker`, known to all that begin after it. Yields True, and is none, where it would close a
        circle of waits."""
        if closes_circle(self._graph(), asker, asked):
            yield True
            return
        self._edges[asker, asked] += 1
        try:
            yield False
        finally:
            self._edges[asker, asked] -= 1
            if not self._edges[asker, asked]:
                del self._edges[asker, asked]

    def _graph(self) -> Mapping[SessionId, Set[SessionId]]:
        graph: dict[SessionId, set[SessionId]] = {}
        for asker, asked in self._edges:
            graph.setdefault(asker, set()).add(asked)
        return graph
