"""The gateways that are paired: whether each is there, and what keeps it away."""

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from adapters.cli.reading import lasted
from adapters.upkeep.finding import Finding, ok, warn
from bridge.phrases import counted

_CHECK = "gateway"


def gateways(found: Sequence[Mapping[str, Any]]) -> Iterator[Finding]:
    """Of the bridge's status."""
    for one in found:
        yield from _linked(one) if one["linked"] else (_away(one),)


def _linked(one: Mapping[str, Any]) -> Iterator[Finding]:
    known = f" ({one['software']})" if one["software"] else ""
    yield ok(_CHECK, f"{one['name']} is linked{known}, {counted(one['sessions'], 'session')}")
    for advice in one["advice"]:
        yield warn(_CHECK, f"{one['name']} has something to be set right", advice)


def _away(one: Mapping[str, Any]) -> Finding:
    name = one["name"]
    if one["trouble"]:
        return warn(_CHECK, f"{name} cannot be linked: {one['trouble']}", "Set that right; it tries again by itself.")
    if one["seen_at"] is None:
        remedy = "Give it its token and start it (deploy/gateway-link.md); another token: tieline gateway pair."
        return warn(_CHECK, f"{name} is paired, and was never here", remedy)
    away = max(0.0, time.time() - datetime.fromisoformat(one["seen_at"]).timestamp())
    remedy = "Start it; the mail of its sessions waits. Where it runs, its own log says more."
    return warn(_CHECK, f"{name} was here last {lasted(away)} ago", remedy)
