"""What must fit between the options of a session, its agent, and the agents that stand in for it."""

from collections.abc import Iterator
from dataclasses import replace

from adapters.settings.build import hooks_env, options
from adapters.settings.explain import dotted
from adapters.settings.problems import Problem, choice
from adapters.settings.schema import File
from adapters.settings.sources import Sources
from bridge.launching import NO_OPTIONS, problems
from bridge.session import Kind


def launch_problems(file: File, sources: Sources) -> Iterator[Problem]:
    for handle, table in file.sessions.items():
        # What a gateway's session may not have is told without regard to what it says.
        given = options(table) if table.kind != Kind.GATEWAY else replace(NO_OPTIONS, label=table.label)
        found = [(one.option, one.what, one.remedy) for one in problems(given, agent=table.agent, cwd=table.cwd)]
        agent = file.agents.get(table.agent or "")
        if table.hooks and agent is not None and not hooks_env(agent):
            what = f"is told to no agent {table.agent!r}: it says not how"
            found.append(("hooks", what, f"remove it, or set hooks_env in [agents.{table.agent}]"))
        for name in table.fallback:
            if name not in file.agents:
                found.append(("fallback", f"has the unknown agent {name!r}", choice(name, file.agents)))
        for option, what, remedy in found:
            path = ("sessions", handle, option)
            yield Problem(sources.where(*path), f"{dotted(path)} {what}", remedy)
