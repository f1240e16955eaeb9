"""How an agent is started."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bridge.launching import Definition

_SECRET = re.compile(r"key|token|secret|passw", re.IGNORECASE)
_PASSED = frozenset({"PATH", "HOME", "LANG", "TERM", "TMPDIR", "USER", "SHELL", "TIELINE_HOME"})


@dataclass(frozen=True, slots=True)
class AgentSpec:
    """`env` is set for it, `env_pass` names what is passed from the bridge's environment. With `embed` it has
    no tools and gets peer text in its prompts. `mode` is the ACP mode that its sessions are set to, where they name
    none. `hooks_env` is set for sessions that consent to the user's hooks, `safe_env` for those in safe mode. `preset`
    is of which make it is, where that is known: it tells where it differs from others."""

    name: str
    command: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    env_pass: tuple[str, ...] = ()
    embed: bool = False
    mode: str | None = None
    hooks_env: Mapping[str, str] = field(default_factory=dict)
    safe_env: Mapping[str, str] = field(default_factory=dict)
    preset: str | None = None

    @property
    def definition(self) -> Definition:
        return Definition(
            agent=self.name,
            command=self.command,
            env=tuple(sorted(self.env)),
            env_pass=tuple(sorted(self.env_pass)),
            embed=self.embed,
            hooks_env=tuple(sorted(self.hooks_env)),
            safe_env=tuple(sorted(self.safe_env)),
        )

    def held_to(self, frozen: Definition) -> "AgentSpec":
        """As it was defined then, with the values of now, and with nothing that it does not have now."""
        command = frozen.command or self.command
        return replace(
            self,
            command=command,
            preset=self.preset if command == self.command else None,
            env=_named(self.env, frozen.env),
            env_pass=tuple(name for name in self.env_pass if name in frozen.env_pass),
            embed=self.embed and frozen.embed,
            hooks_env=_named(self.hooks_env, frozen.hooks_env),
            safe_env=self.safe_env,
        )


def _named(values: Mapping[str, str], names: Sequence[str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if name in names}


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


def secrets_in(env: Mapping[str, str], passed_on: Collection[str] = ()) -> list[str]:
    """The values that are secret by the names of their variables, and those of variables that are `passed_on` since the
    agent needs them, whatever their names."""
    needed = {name for name in passed_on if not passed({name: ""})}
    return [value for name, value in env.items() if name in needed or _SECRET.search(name)]
