"""The settings: whether they can be read, and whether what they name is there."""

import shutil
from collections.abc import Iterator, Mapping

from adapters.cli import exits
from adapters.rulebook.sessions import parties
from adapters.settings.commands import program_of
from adapters.settings.model import Settings
from adapters.settings.problems import SettingsError
from adapters.upkeep.finding import Finding, fail, ok, warn
from bridge.phrases import counted
from policy.check import Level, check
from policy.rules import Rule


def settings(loaded: Settings | SettingsError) -> Iterator[Finding]:
    if isinstance(loaded, Settings):
        counts = ((loaded.sessions, "session"), (loaded.agents, "agent"), (loaded.rules, "rule"))
        yield ok("settings", ", ".join(counted(len(those), what) for those, what in counts))
        yield from _rules(loaded)
        return
    for problem in loaded.problems:
        yield fail("settings", f"{problem.where}: {problem.what}", problem.remedy, code=exits.CONFIG)


def _rules(loaded: Settings) -> Iterator[Finding]:
    """Of the sessions of the file alone: what names another profile is left to a check that is given its file."""
    own = {loaded.profile, ""}
    rules = [one for one in loaded.rules if _profiles(one) <= own]
    errors = [one for one in check(rules, list(parties(loaded).values())) if one.level is Level.ERROR]
    if errors:
        text = f"{errors[0].rule.name} {errors[0].text}"
        more = f", and so it is with {counted(len(errors) - 1, 'other rule')}" if len(errors) > 1 else ""
        yield warn("rules", f"{text}{more}", "See: tieline policy check")


def _profiles(rule: Rule) -> set[str]:
    named = (each for each in (*rule.senders, *rule.recipients) if ":" not in each)
    return {each.rpartition("/")[0] for each in named}


def agents(loaded: Settings, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Looked for in the PATH of whoever asks, which a bridge that was started elsewhere may not have."""
    for name, agent in loaded.agents.items():
        program = program_of(agent.command)
        found = shutil.which(program, path=environ.get("PATH"))
        if found is None:
            yield warn("agents", f"{name}: there is no {program}", "Install it, or correct the agent's command.")
        else:
            yield ok("agents", f"{name}: {found}")
