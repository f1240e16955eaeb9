"""The bridge: whether one runs on the home, answers, and is of this version."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from adapters.cli.connection import Connection, Dropped, NoBridge, socket_path
from adapters.cli.reading import FILE, lasted
from adapters.settings.home import LOCK
from adapters.sqlite.lock import holder_of
from adapters.upkeep.finding import Finding, fail, ok, warn
from adapters.upkeep.gateways import gateways
from bridge.errors import Refused
from bridge.phrases import counted

_PATIENCE_S = 5.0
_SKEW_S = 60


def bridge(home: Path, environ: Mapping[str, str], *, version: str) -> Iterator[Finding]:
    holder = holder_of(home / LOCK)
    if holder is None:
        yield warn("bridge", "none runs on this home", "Start it: tieline run")
        return
    yield ok("lock", f"{holder} holds it")
    try:
        pending = Connection(socket_path(environ), None, None).begin("GET", "/v1/status")
        status = pending.result() if pending.ready(_PATIENCE_S) else None
    except (NoBridge, Dropped, Refused):
        status = None
    if status is None:
        remedy = "If it does not answer in a minute, look into logs/bridge.log and restart it."
        yield fail("bridge", f"{holder} runs and does not answer", remedy)
        return
    yield from _answering(status, version)


def _answering(status: Mapping[str, Any], version: str) -> Iterator[Finding]:
    if status["version"] != version:
        text = f"it runs version {status['version']}, and {version} is installed"
        yield warn("bridge", text, "Restart it.")
    else:
        yield ok("bridge", f"it answers, up {lasted(status['uptime_s'])}")
    if told := FILE.get(status["file"]):
        remedy = "tieline policy explain FROM TO tells what holds; accept, take back or mend what the file says."
        yield warn("file", told, remedy)
    if count := status.get("outdated"):
        text = f"{counted(count, 'session')} on older settings (tieline sessions --json: outdated)"
        yield warn("sessions", text, "/new there, or tieline session renew, gives a fresh context with those of now.")
    telegram = status["telegram"]
    if telegram is not None and not telegram["ok"]:
        yield warn("telegram", str(telegram.get("error")), "It goes on by itself once that is set right.")
    elif telegram is not None:
        yield ok("telegram", "it is heard")
    yield from gateways(status.get("gateways", ()))
    age = _age(status["pid"])
    if age is not None and abs(age - status["uptime_s"]) > _SKEW_S:
        text = f"it has jumped by {lasted(abs(age - status['uptime_s']))} since the bridge began"
        yield warn("clock", text, "See what sets it: times of lives and of retention follow it.")


def _age(pid: int) -> float | None:
    """Seconds since the process began, by a clock that nobody sets; None where the system does not tell."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        up = float(Path("/proc/uptime").read_text().split()[0])
        return up - int(stat.rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None
