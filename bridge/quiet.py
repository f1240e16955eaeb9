"""Quiet hours: when a session's peers wait, in the time zone of the session (DESIGN §4)."""

import re
from collections.abc import Iterable
from datetime import UTC, date, datetime, time, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from bridge.message import Intent, Message, Origin
from bridge.session import Session

_HOURS = re.compile(r"([01]\d|2[0-3]):([0-5]\d)-([01]\d:[0-5]\d|2[0-3]:[0-5]\d|24:00)\Z", re.ASCII)
_DAY = 24 * 60


@cache
def hours(text: str) -> tuple[int, int]:
    """Hours such as `22:00-07:00` as their first minute of the day, and the minute of that day or of the next in which
    they are over. Raises `ValueError`."""
    found = _HOURS.match(text)
    if found is None:
        raise ValueError(f"{text!r} are no hours")
    start = int(found[1]) * 60 + int(found[2])
    end = int(found[3][:2]) * 60 + int(found[3][3:])
    return start, end if end > start else end + _DAY


def leave_time(every: Iterable[str]) -> bool:
    """Whether there is any minute of a day that these hours leave."""
    quiet = {minute % _DAY for one in every for minute in range(*hours(one))}
    return len(quiet) < _DAY


def quiet_until(every: tuple[str, ...], timezone: str, now: float) -> float | None:
    """When the quiet hours in which `now` is are over; None where it is not in any.

    Hours that touch or overlap go on into each other. They begin and end by the clock on the wall: where it is put
    forward over the time of a beginning or an end, that is the moment of it, and where it is put back, the hours begin
    with the first such time and end with the last.
    """
    if not every:
        return None
    zone = ZoneInfo(timezone)
    end = now
    # Each of them goes on into another once a day at most, and where they leave time, that ends within two days.
    for _ in range(3 * len(every)):
        later = max((until for one in every if (until := _until(one, zone, end)) is not None), default=None)
        if later is None:
            break
        end = later
    return end if end > now else None


def kept_until(session: Session, message: Message, now: float) -> float | None:
    """Until when the session's quiet hours keep a message waiting; None where they do not. What keeps is that it is a
    peer's handoff: a person's word, the answers to the session's own requests and notices never wait for them."""
    if (
        not session.habits.quiet
        or not message.wake
        or message.origin is not Origin.PEER
        or message.intent is Intent.REPLY
    ):
        return None
    return quiet_until(session.habits.quiet, session.habits.timezone, now)


def clock(session: Session, at: float) -> str:
    """What the clock on the session's wall shows then, to the minute."""
    return f"{datetime.fromtimestamp(at, ZoneInfo(session.habits.timezone)):%H:%M}"


def _until(text: str, zone: ZoneInfo, now: float) -> float | None:
    start, end = hours(text)
    today = datetime.fromtimestamp(now, zone).date()
    for day in (today + timedelta(days=back) for back in (1, 0, -1, -2)):
        over = _instant(day, end, zone, last=True)
        if _instant(day, start, zone, last=False) <= now < over:
            return over
    return None


def _instant(day: date, minute: int, zone: ZoneInfo, *, last: bool) -> float:
    """When the clock on the wall shows that minute of the day, or first shows a later time."""
    wall = datetime.combine(day + timedelta(days=minute // _DAY), time(minute % _DAY // 60, minute % 60))
    one, other = (wall.replace(tzinfo=zone, fold=fold).timestamp() for fold in (0, 1))
    if one <= other:
        return other if last else one
    # No clock shows it. Of the two it is between, the earlier is before the clock was put forward, the other after.
    before, after = int(other), int(one)
    while after - before > 1:
        middle = (before + after) // 2
        if _wall(middle, zone) < wall:
            before = middle
        else:
            after = middle
    return float(after)


def _wall(at: int, zone: ZoneInfo) -> datetime:
    return datetime.fromtimestamp(at, UTC).astimezone(zone).replace(tzinfo=None)
