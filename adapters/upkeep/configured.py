"""The settings: whether they can be read, and whether what they name is there."""

import shutil
from collections.abc import Iterator, Mapping

from adapters.cli import exits
from adapters.settings.model import Settings
from adapters.settings.problems import SettingsError
from adapters.upkeep.finding import Finding, fail, ok, warn


def settings(loaded: Settings | SettingsError) -> Iterator[Finding]:
    if isinstance(loaded, Settings):
        yield ok("settings", f"{len(loaded.sessions)} sessions, {len(loaded.agents)} agents, {len(loaded.rules)} rules")
        return
    for problem in loaded.problems:
        yield fail("settings", f"{problem.where}: {problem.what}", problem.remedy, code=exits.CONFIG)


def agents(loaded: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Looked for in the PATH of whoever asks, which a bridge that was started elsewhere may not have."""
    for name, agent in loaded.agents.items():
        program = agent.command[0]
        found = shutil.which(program, path=environ.get("PATH"))
        if found is None:
            yield warn("agents", f"{name}: there is no {program}", "Install it, or correct the agent's command.")
        else:
            yield ok("agents", f"{name}: {found}")
