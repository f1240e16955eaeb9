"""A gateway's session behind the port of an agent."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from adapters.gateway.hub import Hub
from adapters.gateway.job import Job, cancelled, unbegun
from bridge.history import History
from bridge.ids import SessionId
from bridge.ports.runtime import Context, Left, Listener, Prompt, Result, ToolBegun
from bridge.turn import Process

Awaited = Callable[[], bool]


def process_of(gateway: str) -> Process:
    """What stands for a gateway where an agent has a process: there is none of the bridge's that could be ended."""
    return Process(0, f"gateway:{gateway}")


def stands_for_gateway(process: Process) -> bool:
    return process.pid == 0


class GatewayAgent:
    """`bridge.ports.runtime.Agent`. The gateway keeps its context, and the bridge is shown nothing of it."""

    opening: Sequence[str] = ()
    left: Sequence[Left] = ()
    history = History()
    context = Context.RESUMED

    def __init__(self, hub: Hub, session: SessionId, gateway: str, seal: str, alias: str | None) -> None:
        self._hub = hub
        self._session = session
        self._gateway = gateway
        self._alias = alias
        self._seal = seal
        self._job: Job | None = None

    @property
    def process(self) -> Process:
        return process_of(self._gateway)

    @property
    def alias(self) -> str:
        seat = self._hub.seat(self._session)
        return seat.alias if seat is not None else self._alias or self._session

    @property
    def seal(self) -> str:
        return self._seal

    @property
    def alive(self) -> bool:
        return True

    def expecting(self, job: Job) -> None:
        """A turn that an earlier bridge has left with the gateway."""
        self._job = job

    async def prompt(self, prompt: Prompt, listener: Listener) -> Result:
        prompt.check()
        if prompt.execution is None:
            raise ValueError("a gateway is prompted within a turn only")
        if prompt.words is not None:
            job = self._hub.taken(self._session)
            if job is None:
                # Its people had begun it before, and nothing can begin it again for them.
                return cancelled()
            self._job = job
            job.turn, job.epoch = prompt.execution.turn, prompt.execution.epoch
            self._hub.enter(job)
            return await self._ended(job, listener)
        job = Job(self._session, self._gateway, prompt.execution.turn, prompt.execution.epoch)
        why = self._hub.offer(job, prompt)
        if why is not None:
            return unbegun(why)
        self._job = job
        return await self._ended(job, listener)

    async def rejoin(self, listener: Listener, after: int) -> Result | None:
        if self._job is None:
            return None
        job = self._job
        self._hub.enter(job)
        return await self._ended(job, listener)

    async def _ended(self, job: Job, listener: Listener) -> Result:
        job.listener = listener
        if job.tools:
            await listener.happened(ToolBegun("before", "a tool that had begun before", reading=False))
        job.entered.set()
        return replace(await asyncio.shield(job.over))

    async def forget(self) -> None:
        job, self._job = self._job, None
        if job is not None:
            self._hub.settled(job)

    async def cancel(self, grace_s: float) -> None:
        job = self._job
        if job is None or job.over.done():
            return
        self._hub.cancel(job)
        try:
            async with asyncio.timeout(grace_s):
                await asyncio.shield(job.over)
        except TimeoutError:
            # It is the gateway's process: what it still does is fenced off, and reported to nobody.
            job.end(cancelled())

    async def close(self) -> None:
        job = self._job
        if job is not None and not job.over.done():
            self._hub.cancel(job)
            job.end(cancelled())

    async def leave(self) -> None:
        """What the gateway has begun goes on, and it tells the next bridge."""
