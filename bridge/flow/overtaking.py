"""Which commands pass what waits at their place: a stop outranks everything (invariant 10)."""

from bridge.ports.chat import Overtakes

_AT_ONCE = frozenset({"/status", "/queue", "/help", "/answer"})


def overtaken_by(text: str, *, operator: bool) -> Overtakes:
    """Who may not stop does not overtake either."""
    name = text.lower().split(maxsplit=1)[0]
    if name in _AT_ONCE:
        return Overtakes.WHAT_WAITS
    return Overtakes.STOP if name == "/stop" and operator else Overtakes.NOTHING
