"""Gateways behind the port of the runtime, and beside another one."""

from collections.abc import Awaitable, Callable, Sequence

from adapters.gateway.agent import GatewayAgent, process_of, stands_for_gateway
from adapters.gateway.hub import Hub
from adapters.gateway.job import Job
from bridge.gateway import gateway_of
from bridge.launching import Definition
from bridge.ports.runtime import Agent, Execution, Launch, Runtime
from bridge.turn import Process


class WithGateways:
    """`bridge.ports.runtime.Runtime`: the agents of gateways' sessions, and all others of `own`."""

    def __init__(self, own: Runtime, hub: Hub) -> None:
        self._own = own
        self._hub = hub

    def present(self, agent: str) -> bool:
        """Whether that agent can take work now."""
        gateway = gateway_of(agent)
        return gateway is None or self._hub.linked(gateway)

    def knows(self, agent: str) -> bool:
        return gateway_of(agent) is not None or self._own.knows(agent)

    def names(self) -> Sequence[str]:
        return self._own.names()

    def embeds(self, agent: str) -> bool:
        return gateway_of(agent) is None and self._own.embeds(agent)

    def definition(self, agent: str) -> Definition | None:
        return Definition(agent) if gateway_of(agent) is not None else self._own.definition(agent)

    async def start(self, launch: Launch, born: Callable[[Process], Awaitable[None]]) -> Agent:
        gateway = gateway_of(launch.agent)
        if gateway is None:
            return await self._own.start(launch, born)
        await born(process_of(gateway))
        return GatewayAgent(self._hub, launch.session, gateway, launch.seal, launch.alias)

    async def adopt(self, launch: Launch, process: Process, execution: Execution, after: int) -> Agent | None:
        gateway = gateway_of(launch.agent)
        if gateway is None:
            return await self._own.adopt(launch, process, execution, after)
        job = Job(launch.session, gateway, execution.turn, execution.epoch)
        self._hub.expect(job)
        agent = GatewayAgent(self._hub, launch.session, gateway, launch.seal, launch.alias)
        agent.expecting(job)
        return agent

    async def end(self, process: Process) -> None:
        """A gateway's process is its own."""
        if not stands_for_gateway(process):
            await self._own.end(process)
