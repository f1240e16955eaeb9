"""Lengths of time as people write them."""

from bridge.errors import Code, Refused

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def seconds(text: str) -> float:
    """`90`, `1.5`, `30s`, `10m`, `1h` or `7d`, in seconds. Raises `Refused(invalid_request)`."""
    text = text.strip()
    unit = _UNITS.get(text[-1:].lower())
    try:
        value = float(text[:-1] if unit else text) * (unit or 1)
    except ValueError:
        value = -1
    if not 0 <= value < float("inf"):
        raise Refused(Code.INVALID_REQUEST, f"{text[:40]!r} is no time", remedy="Write 90, 30s, 10m, 1h or 7d.")
    return value
