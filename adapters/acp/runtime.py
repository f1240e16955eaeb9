"""Starts agents and opens their contexts."""

import asyncio
import errno
import importlib
import os
import shutil
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

from adapters.acp.child import Child
from adapters.acp.failures import failure, without_secrets
from adapters.acp.spec import AgentSpec, Times, secrets_in
from adapters.acp.surroundings import environment_of
from adapters.acp.tail import Tail
from adapters.process import end
from bridge.ids import SessionId
from bridge.launching import Definition
from bridge.ports.clock import Clock
from bridge.ports.runtime import Agent, Execution, Launch, StartFailed
from bridge.turn import FailureKind, Process

_ADOPTING = str(Path(__file__).with_name("adopting.py"))
_THROUGH = (sys.executable, "-I", "-S", _ADOPTING) if sys.platform == "linux" else ()
_SCARCE = frozenset({errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOMEM})


async def preload() -> None:
    """Imports what an agent needs, in a thread: `acp` alone takes half a second."""
    await asyncio.to_thread(importlib.import_module, "adapters.acp.opening")


class AcpRuntime:
    """`bridge.ports.runtime.Runtime` over ACP.

    `tool_server` is the command of the bridge's MCP server, to which a launch's secrets are given. `base` is the
    bridge's own environment. `on_stderr` gets each line, cut to size, that an agent writes to stderr.
    """

    def __init__(
        self,
        agents: Mapping[str, AgentSpec],
        *,
        tool_server: Sequence[str],
        base: Mapping[str, str],
        clock: Clock,
        times: Times | None = None,
        on_stderr: Callable[[SessionId, str], None] | None = None,
    ) -> None:
        self._agents = agents
        self._tool_server = tuple(tool_server)
        self._base = base
        self._clock = clock
        self._times = times or Times()
        self._on_stderr = on_stderr
        self._spawning = asyncio.Lock()

    def knows(self, agent: str) -> bool:
        return agent in self._agents

    def names(self) -> Sequence[str]:
        return [*self._agents]

    def embeds(self, agent: str) -> bool:
        return agent in self._agents and self._agents[agent].embed

    def definition(self, agent: str) -> Definition | None:
        return self._agents[agent].definition if agent in self._agents else None

    async def start(self, launch: Launch, born: Callable[[Process], Awaitable[None]]) -> Agent:
        spec = self._agents.get(launch.agent)
        if spec is None:
            raise _wrong(f"No agent is configured under the name {launch.agent!r}.")
        launch = replace(launch, cwd=_directory(launch.cwd))
        if launch.definition is not None:
            spec = spec.held_to(launch.definition)
        await preload()
        from adapters.acp.opening import opened  # noqa: PLC0415

        env = await asyncio.to_thread(environment_of, launch, spec, self._base)
        on_stderr = self._on_stderr
        tail = Tail(
            (lambda line: on_stderr(launch.session, line)) if on_stderr else None,
            hidden=(*secrets_in(launch.secrets), *secrets_in(env, spec.env_pass)),
        )
        child = await self._spawned(spec, launch.cwd, env, tail)
        async with AsyncExitStack() as undo:
            undo.push_async_callback(child.gone)
            undo.callback(child.kill)
            await born(child.process)
            try:
                agent = await opened(
                    child,
                    tail,
                    spec,
                    launch,
                    tool_server=self._tool_server,
                    env=env,
                    times=self._times,
                    clock=self._clock,
                )
            except StartFailed as failed:
                raise StartFailed(without_secrets(failed.failure, tail.redaction)) from None
            undo.pop_all()
        return agent

    async def adopt(self, launch: Launch, process: Process, execution: Execution, after: int) -> Agent | None:
        """None: it ends with whoever has started it."""
        return None

    async def end(self, process: Process) -> None:
        await end(process, self._times.stop_s)

    async def _spawned(self, spec: AgentSpec, cwd: str, env: Mapping[str, str], tail: Tail) -> Child:
        command = f"The command {spec.command[0]!r} of agent {spec.name!r}"
        try:
            # A fork holds the event loop; of many starts at once only one does so at a time.
            async with self._spawning:
                _look_for(spec.command[0], cwd, env)
                return await Child.spawn((*_THROUGH, *spec.command), cwd=cwd, env=env, tail=tail)
        except FileNotFoundError:
            raise _wrong(f"{command} was not found.") from None
        except PermissionError:
            raise _wrong(f"{command} may not be run.") from None
        except OSError as error:
            detail = f"{command} cannot be run: {error.strerror}."
            kind = FailureKind.CAPACITY if error.errno in _SCARCE else FailureKind.CONFIG
            raise StartFailed(failure(kind, detail)) from None


def _look_for(command: str, cwd: str, env: Mapping[str, str]) -> None:
    """Raises `OSError` where the command is not there or may not be run."""
    at = os.path.join(cwd, command) if os.path.dirname(command) else command
    if shutil.which(at, path=env.get("PATH", os.defpath)) is None:
        raise PermissionError if at != command and os.path.exists(at) else FileNotFoundError


def _directory(cwd: str) -> str:
    cwd = os.path.abspath(os.path.expanduser(cwd))
    if not os.path.isdir(cwd):
        raise _wrong(f"The working directory {cwd} does not exist.")
    if not os.access(cwd, os.R_OK | os.X_OK):
        raise _wrong(f"The working directory {cwd} may not be entered.")
    return cwd


def _wrong(detail: str) -> StartFailed:
    return StartFailed(failure(FailureKind.CONFIG, detail))
