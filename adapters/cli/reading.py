"""What people read where scripts get JSON: the same facts, in the order and the words of a person."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from adapters.cli.plain import one_line

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"))
_NOT_TOLD = frozenset({"message_id", "epoch", "receipt", "reply", "turn", "verbs"})
"""Details of a step that only programs can use; `--json` has them."""

FILE = {
    "waits": "a part of tieline.toml waits for an operator's word in a chat",
    "refused": "an operator has refused what tieline.toml adds",
    "broken": "tieline.toml cannot be read, and what it said before holds on",
}
"""Why not all of the operator's file holds, as `bridge.standing` has it, which is too heavy for a command to load."""

_WHERE = {
    "held": "held until a person approves it",
    "leased": "at work",
    "parked": "set aside until its people decide",
}


def lasted(seconds: float) -> str:
    """`7 s`, `3 min`, `5 h`, `2 d`: the greatest unit, rounded down."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{seconds:.0f} s"


def status(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    waiting = found["oldest_queued_s"]
    by = found.get("paused_by")
    paused = f"paused by {by}, until: tieline policy resume, or /policy resume in a chat" if by else None
    return [
        *([("agents", paused)] if paused else []),
        *([("file", f"{told}: tieline doctor")] if (told := FILE.get(found.get("file", ""))) else []),
        ("bridge", f"{found['version']}, pid {found['pid']}, up {lasted(found['uptime_s'])}"),
        ("profile", found["profile"]),
        ("store", found["store"]),
        ("telegram", _telegram(found["telegram"])),
        ("sessions", f"{found['sessions']}" + _outdated(found.get("outdated", 0))),
        ("turns", f"{found['turns']} running"),
        ("queued", f"{found['queued']}" + ("" if waiting is None else f", the oldest for {lasted(waiting)}")),
        *((("gateway", _gateway(one))) for one in found.get("gateways", ())),
    ]


def _gateway(one: Mapping[str, Any]) -> str:
    return f"{one['name']} is " + ("linked" if one["linked"] else "not linked: tieline doctor")


def _outdated(count: int) -> str:
    return f", {count} of them on older settings until /new or: tieline session renew" if count else ""


def _telegram(health: Mapping[str, Any] | None) -> str:
    if health is None:
        return "not configured"
    if not health["ok"]:
        return f"not ok: {health.get('error') or 'no reason is known'}"
    age = health["last_poll_age_s"]
    return "ok" if age is None else f"ok, last heard {lasted(age)} ago"


def where(view: Mapping[str, Any]) -> str:
    """Where a message is, and what holds it up if something does."""
    state = _WHERE.get(view["state"], view["state"])
    position = f", position {view['position']}" if view["position"] else ""
    held_up = view.get("reason") if view["state"] in ("queued", "parked") else None
    return f"{state}{position}" + (f" ({held_up})" if held_up else "")


def mail(one: Mapping[str, Any]) -> str:
    """The line above a message's text."""
    late = "late " if one["late"] else ""
    by = ", written by a person" if one["origin"] == "user" else ""
    taken = ", taken" if one["state"] == "leased" else ""
    return one_line(f"{one['message_id']}  {late}{one['intent']} from {one['from']}{by}{taken}  {one['accepted_at']}")


def trace(steps: Sequence[Mapping[str, Any]]) -> Iterator[list[str]]:
    """A row a step: the time since the first, what, with whom, and its details.

    Where there are several messages each has a number, and its id stands where it was accepted."""
    from datetime import datetime  # noqa: PLC0415 - no other command needs it

    messages = list(dict.fromkeys(step["detail"].get("message_id") for step in steps))
    began = datetime.fromisoformat(steps[0]["at"])
    for step in steps:
        ident = step["detail"].get("message_id")
        since = (datetime.fromisoformat(step["at"]) - began).total_seconds()
        told = _told(step["detail"])
        row = [f"+{since:.3f} s"]
        if len(messages) > 1:
            row.append(f"#{messages.index(ident) + 1}" if ident else "")
            told += f" · {ident}" if ident and step["step"] == "accepted" else ""
        yield [*row, step["step"], step["session"], told]


def _told(detail: Mapping[str, Any]) -> str:
    rule, reason = detail.get("rule"), str(detail.get("reason", ""))
    skipped = {*_NOT_TOLD, *(("rule",) if rule and str(rule) in reason else ())}
    if detail.get("title") == detail.get("name"):
        skipped.add("title")
    return " · ".join(
        _word(name, value) for name, value in detail.items() if name not in skipped and value is not False
    )


def _word(name: str, value: Any) -> str:
    if value is True:
        return name
    if isinstance(value, dict):
        return one_line(", ".join(f"{part.replace('_', ' ')} {one}" for part, one in value.items()))
    if isinstance(value, str):
        return one_line(f"{name} {value}" if name in ("rule", "to") else value)
    return one_line(f"{name} {value}")
