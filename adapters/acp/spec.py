"""How an agent is started."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_SECRET = re.compile(r"key|token|secret|passw", re.IGNORECASE)
_PASSED = frozenset({"PATH", "HOME", "LANG", "TERM", "TMPDIR", "USER", "SHELL", "TIELINE_HOME"})


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """`env` is set for it, `env_pass` names what is passed from the bridge's environment. With `embed` it has
    no tools and gets peer text in its prompts. `mode` is the ACP mode that its sessions are set to."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    env_pass: tuple[str, ...] = ()
    embed: bool = False
    mode: str | None = None


@dataclass(frozen=True, slots=True)
class Times:
    """In seconds: until an agent must be ready, and between asking a process to end and killing it.

    Some agents answer before they have replayed everything. Their replay is over once nothing has come for `quiet_s`,
    and where it is to be relied on, for `surely_quiet_s`.
    """

    start_s: float = 60
    stop_s: float = 10
    quiet_s: float = 0.1
    surely_quiet_s: float = 2


def environment(spec: AgentSpec, base: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of an agent. It learns where its bridge is, for the `tieline` of its shell; no other
    setting of the bridge ever reaches it, even if it is named."""
    named = {name: base[name] for name in spec.env_pass if name in base and not name.startswith("TIELINE_")}
    return {**passed(base), **named, **spec.env}


def passed(base: Mapping[str, str]) -> dict[str, str]:
    """Of the bridge's own environment, what every process gets that it starts for agents."""
    return {name: value for name, value in base.items() if name in _PASSED or name.startswith("LC_")}


def secrets_in(env: Mapping[str, str]) -> list[str]:
    """The values that are secret by the names of their variables."""
    return [value for name, value in env.items() if _SECRET.search(name)]
