"""The time zone in which a session has its quiet hours."""

import os
from collections.abc import Iterator, Mapping
from zoneinfo import ZoneInfo

from adapters.settings.explain import dotted
from adapters.settings.problems import Problem
from adapters.settings.sources import Sources

_LOCALTIME = "/etc/localtime"
_REMEDY = 'write one like timezone = "Europe/Berlin"'


def machine_zone(environ: Mapping[str, str], localtime: str = _LOCALTIME) -> str | None:
    """The name of the machine's own time zone, where it has one that can be told."""
    given = environ.get("TZ", "").removeprefix(":")
    if given:
        return given if _known(given) else None
    _, found, name = os.path.realpath(localtime).partition("/zoneinfo/")
    name = name.removeprefix("posix/").removeprefix("right/")
    return name if found and _known(name) else None


def zone_problems(sources: Sources, environ: Mapping[str, str]) -> Iterator[Problem]:
    for handle in sources.keys("sessions"):
        path = ("sessions", handle, "timezone")
        given = sources.get(*path)
        if isinstance(given, str) and not _known(given):
            yield Problem(sources.where(*path), f"{dotted(path)} names no time zone that is known here", _REMEDY)
        elif given is None and sources.get("sessions", handle, "quiet") and machine_zone(environ) is None:
            path = ("sessions", handle, "quiet")
            what = f"{dotted(path)} needs a time zone, and this machine does not tell its own"
            yield Problem(sources.where(*path), what, _REMEDY)


def _known(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (OSError, ValueError, LookupError):
        return False
    return True
