"""Who sees whom is asked far more often than rules, grants or sessions change: the last answers are kept."""

from collections import OrderedDict
from collections.abc import Callable, Sequence

from bridge.decision import Party

See = Callable[[Party, Sequence[Party], int], frozenset[str]]
"""What a viewer sees of the others in an era, the time between two ends of grants."""

_VIEWERS = 128
"""How many viewers are remembered. With ten thousand sessions that all see each other that is some 70 MB."""

_FEW = 16
"""Up to so many others it is quicker to look than to remember."""


class Memory:
    """What each of the latest viewers sees, for as long as viewer and others stay as they were and no grant ends."""

    def __init__(self, see: See) -> None:
        self._see = see
        self._kept: OrderedDict[Party, tuple[int, tuple[Party, ...], frozenset[str]]] = OrderedDict()

    def of(self, viewer: Party, others: Sequence[Party], era: int) -> frozenset[str]:
        if len(others) <= _FEW:
            return self._see(viewer, others, era)
        roster = tuple(others)
        kept = self._kept.get(viewer)
        if kept is None or kept[0] != era or kept[1] != roster:
            kept = era, roster, self._see(viewer, roster, era)
            self._kept[viewer] = kept
            if len(self._kept) > _VIEWERS:
                self._kept.popitem(last=False)
        self._kept.move_to_end(viewer)
        return kept[2]
