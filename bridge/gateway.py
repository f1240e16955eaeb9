"""Gateways: programs that own a bot and sessions of their own, and take work for these over a link (DESIGN §6)."""

import re
from dataclasses import dataclass

from bridge.errors import Code, Refused
from bridge.ids import Place
from bridge.ids import place as parse_place
from bridge.quick import quick

_AGENT = "gateway:"
"""Begins the name of the agent of a gateway's sessions. No agent of the operator's file can have one like it."""

_NAME = re.compile(r"[a-z][a-z0-9]{0,31}\Z")
_TAKEN = frozenset({"telegram", "web", "cli", "terminal", "room", "gateway", "system"})


@quick
@dataclass(frozen=True, slots=True)
class Gateway:
    """One that an operator has paired. `id` is its name, and the scheme of its places. Of its token there is only the
    `digest`. Times are in seconds since 1970."""

    id: str
    digest: str
    paired_at: float
    paired_by: str
    seen_at: float | None = None
    removed_at: float | None = None
    version: int = 0

    @property
    def paired(self) -> bool:
        return self.removed_at is None


@dataclass(frozen=True, slots=True)
class Standing:
    """How a gateway is at this moment. `software` is what it calls itself, `trouble` why its last try to link itself
    has come to nothing, and `advice` what would be better for it, in its own words."""

    linked: bool = False
    software: str | None = None
    trouble: str | None = None
    advice: tuple[str, ...] = ()


def name_of_gateway(text: str) -> str:
    """Raises `Refused(invalid_request)` for what can be no gateway's name."""
    if not _NAME.match(text) or text in _TAKEN:
        raise Refused(
            Code.INVALID_REQUEST,
            f"{text[:80]!r} is no name of a gateway",
            remedy="Use up to 32 of a-z and 0-9, beginning with a letter, and no name of another chat.",
        )
    return text


def agent_of(gateway: str) -> str:
    return f"{_AGENT}{gateway}"


def gateway_of(agent: str | None) -> str | None:
    """The gateway whose sessions have that agent; None for an agent that the bridge starts."""
    return agent.removeprefix(_AGENT) if agent is not None and agent.startswith(_AGENT) else None


def place_of(gateway: str, key: str) -> Place:
    """Where a gateway's session with that key is. Raises `Refused(invalid_request)` for a key that is no address."""
    return parse_place(f"{gateway}:{key}")


def handle_from(title: str) -> str:
    """What a title gives for a handle: only letters and digits that a handle has, joined by single hyphens."""
    words = re.findall(r"[a-z0-9]+", title.casefold())
    return "-".join(words)[:48].strip("-") or "topic"
