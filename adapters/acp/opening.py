"""From a started process to an agent with a context."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, TypeVar

import acp
from acp import schema
from pydantic import ValidationError

from adapters.acp.agent import AcpAgent, Link, Opening, death
from adapters.acp.blocks import Takes
from adapters.acp.child import Child
from adapters.acp.failures import AUTH_REQUIRED, classified, failure, of_error
from adapters.acp.files import preloaded
from adapters.acp.login import logged_in
from adapters.acp.models import set_model
from adapters.acp.presets import Lost, quirks_of
from adapters.acp.replay import Replay
from adapters.acp.spec import AgentSpec, Times
from adapters.acp.tail import Tail
from adapters.acp.tools import SERVER
from bridge.ports.clock import Clock
from bridge.ports.runtime import Context, Launch, StartFailed
from bridge.turn import FailureKind

T = TypeVar("T")

CAPABILITIES = schema.ClientCapabilities(
    fs=schema.FileSystemCapabilities(read_text_file=False, write_text_file=False),
    terminal=False,
    elicitation=schema.ElicitationCapabilities(
        form=schema.ElicitationFormCapabilities(), url=schema.ElicitationUrlCapabilities()
    ),
)


async def opened(
    child: Child,
    tail: Tail,
    spec: AgentSpec,
    launch: Launch,
    *,
    tool_server: Sequence[str],
    env: Mapping[str, str],
    times: Times,
    clock: Clock,
) -> AcpAgent:
    """`env` is the agent's own environment. Raises `StartFailed`. Whoever started the child ends it then."""
    link = Link(child, tail.redaction)
    async with AsyncExitStack() as undo:
        undo.push_async_callback(link.acp.close)
        try:
            async with asyncio.timeout(times.start_s):
                starting = _Starting(link, spec, launch, tool_server, env, times, clock)
                alias, context = await starting.run()
                opening = await starting.opening(context)
        except TimeoutError:
            told = f" Its last words:\n{tail.text[-400:]}" if tail.text else ""
            problem = failure(FailureKind.TIMEOUT, f"The agent was not ready within {times.start_s:g} s.{told}")
            raise StartFailed(problem) from None
        except acp.RequestError as error:
            raise StartFailed(of_error(error.code, str(error), error.data, clock.now())) from None
        except ValidationError:
            problem = failure(FailureKind.CRASH, "The agent's answers are no ACP.")
            raise StartFailed(problem) from None
        except ConnectionError:
            await child.gone()
            raise StartFailed(death(child, tail, "before it was ready")) from None
        undo.pop_all()
    return AcpAgent(
        child,
        link,
        tail,
        alias,
        context,
        seal=launch.seal,
        opening=opening,
        takes=starting.takes,
        clock=clock,
        stop_s=times.stop_s,
        quirks=quirks_of(spec.preset),
    )


class _Starting:
    def __init__(
        self,
        link: Link,
        spec: AgentSpec,
        launch: Launch,
        tools: Sequence[str],
        env: Mapping[str, str],
        times: Times,
        clock: Clock,
    ) -> None:
        self._link = link
        self._spec = spec
        self._launch = launch
        self._servers: list[Any] = [] if spec.embed or not tools else [_server(SERVER, tools, launch.secrets)]
        self._admits = dict(quirks_of(spec.preset).admits) if self._servers else {}
        for server in launch.options.servers:
            passed = {name: env[name] for name in server.env_pass if name in env}
            self._servers.append(_server(server.name, server.command, passed))
        self._env = env
        self._offered: Sequence[Any] = []
        self.takes = Takes()
        self._quiet_s = times.surely_quiet_s if launch.to_show else times.quiet_s
        self._clock = clock

    async def run(self) -> tuple[str, Context]:
        hello = await self._link.acp.initialize(acp.PROTOCOL_VERSION, client_capabilities=CAPABILITIES)
        if hello.protocol_version != acp.PROTOCOL_VERSION:
            raise _wrong(f"The agent speaks version {hello.protocol_version} of ACP, not {acp.PROTOCOL_VERSION}.")
        offers = hello.agent_capabilities or schema.AgentCapabilities()
        self.takes = Takes.of(offers.prompt_capabilities)
        if self._spec.embed and not self.takes.resources:
            raise _wrong("The agent takes no embedded resources, so `embed` cannot be set for it.")
        alias = self._launch.alias
        if alias and offers.load_session and await self._loaded(alias):
            context = Context.RESUMED
        else:
            context = Context.LOST if alias else Context.NEW
            alias = await self._new()
        self._link.client.session = alias
        if self._launch.options.model is not None:
            await self._set_model(alias, self._launch.options.model)
        if mode := self._launch.options.mode or self._spec.mode:
            await self._set_mode(alias, mode)
        return alias, context

    async def opening(self, context: Context) -> Opening:
        """What comes before the first prompt: nothing in a context that has had one."""
        options = self._launch.options
        if context is Context.RESUMED and self._link.client.replay.history.prompts:
            return Opening()
        if options.files and not self.takes.resources:
            raise _wrong("The agent takes no embedded resources, so no files can be preloaded for it.")
        files = await asyncio.to_thread(preloaded, self._launch.cwd, options.files)
        return Opening(options.preamble, tuple(files))

    async def _loaded(self, alias: str) -> bool:
        """False where the agent does not know the context any more.

        Some agents answer an unknown id like a known one, only with nothing in the answer and nothing replayed.
        """
        self._link.client.session = alias
        try:
            answer = await self._logged_in(
                lambda: self._link.acp.load_session(
                    cwd=self._launch.cwd, session_id=alias, mcp_servers=self._servers, **self._admits
                )
            )
        except acp.RequestError as error:
            if error.code == AUTH_REQUIRED or classified(str(error), self._clock.now()):
                raise
            return False
        self._link.client.modes.offer(answer.modes)
        self._link.client.spending.options(answer.config_options)
        self._offered = answer.config_options or []
        await self._link.client.replay.quiet(self._quiet_s)
        replay, lost = self._link.client.replay, quirks_of(self._spec.preset).lost
        if lost is Lost.SILENT:
            return bool(replay.history.prompts)
        told = answer.modes or answer.field_meta or answer.config_options or replay.heard
        return bool(told) or lost is Lost.ERROR

    async def _new(self) -> str:
        self._link.client.session = None
        self._link.client.replay = Replay(self._link.client.redaction)
        self._link.client.choice = None
        answer = await self._logged_in(
            lambda: self._link.acp.new_session(cwd=self._launch.cwd, mcp_servers=self._servers, **self._admits)
        )
        self._link.client.modes.offer(answer.modes)
        self._link.client.spending.options(answer.config_options)
        self._offered = answer.config_options or []
        return str(answer.session_id)

    async def _logged_in(self, open_context: Callable[[], Awaitable[T]]) -> T:
        return await logged_in(self._link.acp, self._spec.preset, self._env, open_context)

    async def _set_model(self, alias: str, model: str) -> None:
        anew = await set_model(self._link.acp, alias, model, self._offered, self._link.client.choice)
        if anew and quirks_of(self._spec.preset).reloads and self._servers:
            self._link.client.replay = Replay(self._link.client.redaction)
            if not await self._loaded(alias):
                raise _wrong(f"The agent lost its context as it was set to the model {model!r}.")

    async def _set_mode(self, alias: str, mode: str) -> None:
        try:
            await self._link.acp.set_session_mode(session_id=alias, mode_id=mode)
        except acp.RequestError as error:
            raise _wrong(f"The agent cannot be set to mode {mode!r}: {error}") from None
        self._link.client.modes.entered(mode)


def _server(name: str, command: Sequence[str], environment: Mapping[str, str]) -> schema.McpServerStdio:
    env = [schema.EnvVariable(name=name, value=value) for name, value in environment.items()]
    return schema.McpServerStdio(name=name, command=command[0], args=list(command[1:]), env=env)


def _wrong(detail: str) -> StartFailed:
    return StartFailed(failure(FailureKind.CONFIG, detail))
