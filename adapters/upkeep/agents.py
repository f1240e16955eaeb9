"""`tieline doctor --agents`: which agents are there, what each can do, and what it lacks."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from adapters.acp.presets import PRESETS, Login, Preset
from adapters.acp.spec import AgentSpec, Times, environment
from adapters.settings.commands import program_of
from adapters.settings.model import Settings
from adapters.upkeep.finding import Finding, ok, warn
from bridge.turn import FailureKind

_AT_ONCE = 2
_STOP_S = 5.0
_OWN = "scripted"


@dataclass(frozen=True, slots=True)
class _Known:
    """An agent of the settings, or a preset that none of them has."""

    label: str
    spec: AgentSpec
    preset: Preset | None
    configured: bool

    @property
    def install(self) -> str:
        return f"Install it: {self.preset.install}." if self.preset else "Install it, or correct the agent's command."


async def examined(settings: Settings | None, environ: Mapping[str, str], *, start_s: float) -> AsyncIterator[Finding]:
    """Looked for, and started, in the environment of whoever asks, which a bridge that was started elsewhere may not
    have."""
    room = asyncio.Semaphore(_AT_ONCE)

    async def one(known: _Known) -> list[Finding]:
        async with room:
            return [each async for each in _examined(known, environ, start_s)]

    found = [known for known in _known(settings) if known.configured or _there(known, environ)]
    for known in _known(settings):
        if known not in found:
            yield ok("agents", f"{known.label}: not installed ({known.preset.install if known.preset else ''})")
    for asked in [asyncio.create_task(one(known)) for known in found]:
        for finding in await asked:
            yield finding


def _known(settings: Settings | None) -> Iterator[_Known]:
    agents = settings.agents if settings is not None else {}
    for name, agent in agents.items():
        spec = AgentSpec(name, agent.command, agent.env, agent.env_pass, preset=agent.preset)
        yield _Known(name, spec, PRESETS.get(agent.preset or ""), configured=True)
    for name, preset in PRESETS.items():
        if name != _OWN and not any(agent.preset == name for agent in agents.values()):
            spec = AgentSpec(name, preset.command, env_pass=preset.env_pass, preset=name)
            yield _Known(f"preset {name}", spec, preset, configured=False)


def _there(known: _Known, environ: Mapping[str, str]) -> str | None:
    return shutil.which(program_of(known.spec.command), path=environment(known.spec, environ).get("PATH", os.defpath))


async def _examined(known: _Known, environ: Mapping[str, str], start_s: float) -> AsyncIterator[Finding]:
    from adapters.acp.probe import probed  # noqa: PLC0415 - it takes half a second

    label, preset = known.label, known.preset
    found = _there(known, environ)
    if found is None:
        yield warn("agents", f"{label}: there is no {program_of(known.spec.command)}", known.install)
        return
    if program_of(known.spec.command) != known.spec.command[0]:
        yield ok("agents", f"{label}: {found} is run once a turn")
        return
    with tempfile.TemporaryDirectory(prefix="tieline-doctor-") as cwd:
        try:
            probe = await probed(known.spec, environ, cwd=cwd, times=Times(start_s=start_s, stop_s=_STOP_S))
        except OSError as error:
            yield warn("agents", f"{label}: {found} cannot be run: {error.strerror}", known.install)
            return
    can = probe.abilities
    data = {"name": label, "command": list(known.spec.command), "seconds": round(probe.seconds, 1)}
    data |= {"can": can.to_json() if can is not None else None}
    how = preset.login.how if preset is not None and preset.login is not None else "log in as its own manual says"
    lacks = _lacks_login(preset, environment(known.spec, environ))
    if probe.failure is not None and can is not None and probe.failure.kind in (FailureKind.AUTH, FailureKind.CONFIG):
        yield warn(
            "agents", f"{label}: it wants a login ({probe.failure.detail.rstrip('.')})", f"To log in, {how}.", data
        )
    elif probe.failure is not None:
        yield warn("agents", f"{label}: it does not start: {probe.failure.detail}", known.install, data)
    else:
        offers = f"{can.name} {can.version}".strip() if can is not None else found
        yield ok("agents", f"{label}: {offers} is ready in {probe.seconds:.1f} s{_told(can)}", data)
        if lacks and preset is not None and preset.login is not None and preset.login.without is not None:
            yield ok("agents", f"{label}: without a login {preset.login.without}; to have others, {how}")
        elif lacks:
            yield warn("agents", f"{label}: no login of it is found ({lacks})", f"To log in, {how}.")
    if can is not None and not can.load:
        remedy = "Nothing can be done about it but another agent."
        yield warn("agents", f"{label}: it cannot go on with a context in another process", remedy)
    if unset := [
        name for name in known.spec.env_pass if known.configured and name not in environ and _named(known, name)
    ]:
        remedy = "Set it where the bridge is started, or take it out of env_pass."
        yield warn("agents", f"{label}: env_pass names {', '.join(unset)}, which is not set here", remedy)
    if preset is not None and preset.root is not None and os.geteuid() == 0:
        yield warn("agents", f"{label}: you are root", f"{preset.root[0].upper()}{preset.root[1:]}.")


def _named(known: _Known, variable: str) -> bool:
    """Whether the settings name it: what a preset passes need not be there."""
    return known.preset is None or known.spec.env_pass != known.preset.env_pass


def _told(can: object) -> str:
    from adapters.acp.probe import Abilities  # noqa: PLC0415

    if not isinstance(can, Abilities):
        return ""
    kinds = [("load", can.load), ("resume", can.resume), ("image", can.image), ("embed", can.embed)]
    parts = [", ".join(name for name, has in kinds if has), f"MCP {'/'.join(can.mcp)}"]
    parts += [f"{what} {', '.join(names)}" for what, names in (("modes", can.modes), ("models", can.models)) if names]
    return f": {'; '.join(filter(None, parts))}"


def _lacks_login(preset: Preset | None, env: Mapping[str, str]) -> str:
    """Where it was looked for in vain; nothing where there is one, or nobody knows where it would be."""
    login = preset.login if preset is not None else None
    if login is None or any(env.get(name) for name in login.variables):
        return ""
    files = list(_files(login, env))
    if any(file.exists() for file in files):
        return ""
    return ", ".join([*map(str, files), *login.variables])


def _files(login: Login, env: Mapping[str, str]) -> Iterator[Path]:
    home = Path(env.get("HOME") or os.path.expanduser("~"))
    folder = home
    if login.folder is not None:
        variable, below = login.folder
        folder = Path(env[variable]) if env.get(variable) else home / below
    yield from (folder / name for name in login.files)
