"""Which commands pass what waits at their place: a stop outranks everything (invariant 10)."""

from bridge.ports.chat import Overtakes

_AT_ONCE = frozenset({"/status", "/queue", "/help", "/answer"})


def overtaken_by(text: str, *, operator: bool) -> Overtakes:
    """Who may not stop does not overtake either."""
    name, *rest = text.lower().split()
    if name in _AT_ONCE:
        return Overtakes.WHAT_WAITS
    if name != "/stop" or not operator:
        return Overtakes.NOTHING
    return Overtakes.STOP_ALL if rest == ["all"] else Overtakes.STOP
