"""The fifth step: which agents answer in the topics."""

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence

from adapters.acp.presets import PRESETS
from adapters.acp.spec import AgentSpec, Times, environment
from adapters.onboarding.hearing import shown
from adapters.onboarding.visit import Visit

SCRIPTED = "scripted"
_TIMES = Times(start_s=60.0, stop_s=5.0)


def found(environ: Mapping[str, str]) -> list[str]:
    """The presets whose command is on this machine."""
    return [name for name in PRESETS if name != SCRIPTED and _there(name, environ)]


def _there(name: str, environ: Mapping[str, str]) -> bool:
    spec = _spec(name)
    return shutil.which(spec.command[0], path=environment(spec, environ).get("PATH")) is not None


def _spec(name: str) -> AgentSpec:
    preset = PRESETS[name]
    return AgentSpec(name, preset.command, env_pass=preset.env_pass, preset=name)


async def bound(visit: Visit, titles: Sequence[str]) -> list[str]:
    """The preset for each of the titles."""
    console, environ = visit.console, visit.means.environ
    there = found(environ)
    if not there:
        console.say("None of the agents that Tieline knows is installed here:")
        for line in _installing():
            console.say(f"  {line}")
        console.say(
            "A script answers for now, so that you see it work. Put an agent in its place in tieline.toml later."
        )
        return [SCRIPTED for _ in titles]
    offered = [*there, SCRIPTED]
    described = [*there, "a script, without any model, to see it work"]
    ready: dict[str, bool] = {}
    chosen: list[str] = []
    for number, title in enumerate(titles):
        default = min(number, len(there) - 1)
        while True:
            console.say(f"Which agent answers in “{title}”?")
            name = offered[await console.choice("Number", described, default)]
            if name not in ready:
                ready[name] = name == SCRIPTED or await _ready(visit, name)
            if ready[name] or await console.yes(f"Take {name} all the same?", default=False):
                break
        chosen.append(name)
    return chosen


def _installing() -> Iterator[str]:
    return (f"{name}: {preset.install}" for name, preset in PRESETS.items() if name != SCRIPTED)


async def _ready(visit: Visit, name: str) -> bool:
    """Whether it starts, and is logged in as far as it tells."""
    from adapters.acp.probe import probed  # noqa: PLC0415 - it takes half a second

    console = visit.console
    console.say(f"Starting {name} once, to see whether it is ready…")
    with tempfile.TemporaryDirectory(prefix="tieline-init-") as cwd:
        try:
            probe = await probed(_spec(name), visit.means.environ, cwd=cwd, times=_TIMES)
        except OSError as error:
            console.say(f"{name} cannot be run: {error.strerror}.")
            return False
    if probe.failure is None:
        console.say(f"✓ {name} is ready, in {probe.seconds:.1f} s.")
        return True
    console.say(f"{name} does not start: {shown(probe.failure.detail)}.")
    login = PRESETS[name].login
    if login is not None:
        console.say(f"Has it a login? If not, {login.how}. `tieline doctor --agents` tells more.")
    return False
