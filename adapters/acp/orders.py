"""What a process that starts agents for a bridge is told, and what it makes of that."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic import TypeAdapter

from adapters.acp.failures import failure
from adapters.acp.runtime import AcpRuntime
from adapters.acp.spec import AgentSpec, Times, secrets_in
from adapters.acp.surroundings import environment_of
from bridge.ids import SessionId
from bridge.launching import Definition
from bridge.ports.clock import Clock
from bridge.ports.runtime import Launch, StartFailed
from bridge.turn import FailureKind


@dataclass(frozen=True, slots=True)
class Order:
    """Holds all that the agent is started with: its environment is that of its `spec`, and nothing beside it."""

    spec: AgentSpec
    tool_server: tuple[str, ...]
    times: Times


_ORDER = TypeAdapter(Order)


class Orders:
    """`agents` are those that are configured, `base` is the bridge's own environment."""

    def __init__(
        self, agents: Mapping[str, AgentSpec], *, tool_server: Sequence[str], base: Mapping[str, str], times: Times
    ) -> None:
        self._agents = agents
        self._tool_server = tuple(tool_server)
        self._base = base
        self._times = times

    def knows(self, agent: str) -> bool:
        return agent in self._agents

    def names(self) -> Sequence[str]:
        return [*self._agents]

    def embeds(self, agent: str) -> bool:
        return agent in self._agents and self._agents[agent].embed

    def definition(self, agent: str) -> Definition | None:
        return self._agents[agent].definition if agent in self._agents else None

    def prepare(self, launch: Launch) -> tuple[Launch, Mapping[str, Any], tuple[str, ...]]:
        """What is to be launched, the order for it as JSON, and what must be in no log. Blocks for a moment. Raises
        `StartFailed`."""
        spec = self._agents.get(launch.agent)
        if spec is None:
            detail = f"No agent is configured under the name {launch.agent!r}."
            raise StartFailed(failure(FailureKind.CONFIG, detail))
        if launch.definition is not None:
            spec = spec.held_to(launch.definition)
        env = environment_of(launch, spec, self._base)
        bare = replace(spec, env=env, hooks_env={}, safe_env={})
        plain: Mapping[str, Any] = _ORDER.dump_python(Order(bare, self._tool_server, self._times), mode="json")
        # All that its definition, its consent and its safety came to is in that environment.
        launch = replace(launch, definition=None, options=replace(launch.options, hooks=False, safe=False))
        return launch, plain, (*secrets_in(launch.secrets), *secrets_in(env, spec.env_pass))


def carried_out(order: Mapping[str, Any], clock: Clock, on_stderr: Callable[[SessionId, str], None]) -> AcpRuntime:
    """The runtime for the one agent of an order. Raises `ValueError` where it is none."""
    given = _ORDER.validate_python(order)
    return AcpRuntime(
        {given.spec.name: given.spec},
        tool_server=given.tool_server,
        base={},
        clock=clock,
        times=given.times,
        on_stderr=on_stderr,
    )
