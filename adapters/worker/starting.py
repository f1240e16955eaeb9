"""From a forked worker to an agent that can be prompted."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from adapters import process as processes
from adapters.process import birth_of, children, signalled
from adapters.worker.codec import Malformed, as_json, read
from adapters.worker.link import Frame, Link
from adapters.worker.proof import Hello, Unproven, descends, owns
from adapters.worker.terms import Ready, Start
from bridge.ports.runtime import StartFailed
from bridge.turn import Failure, FailureKind, Process

_HARD_S = 2.0
_KILL = 9


class Starting:
    def __init__(self, link: Link, worker: Process) -> None:
        self._link = link
        self._worker = worker
        self._agent: Process | None = None

    async def ready(self, start: Start, born: Callable[[Process], Awaitable[None]]) -> Ready:
        """Nothing is said to a worker before it is proven to be the one that was started. Raises `StartFailed`."""
        try:
            descends(read(Hello, of(await self._link.receive(), "hello")), self._worker)
            await self._link.send({"start": as_json(start)})
            while True:
                frame = await self._link.receive()
                if frame is not None and "failed" in frame:
                    raise StartFailed(read(Failure, frame["failed"]))
                if frame is not None and "started" in frame:
                    ready = read(Ready, frame["started"])
                    if ready.process != self._agent:
                        raise Unproven(f"pid {ready.process.pid} is not the agent that was born")
                    return ready
                await self._know(read(Process, of(frame, "born")), born)
        except (Malformed, Unproven) as error:
            detail = f"The process that was to run the agent is of no use: {error}."
            raise StartFailed(Failure(FailureKind.CRASH, detail, retryable=True)) from None

    async def kill(self) -> None:
        """Ends the worker and whatever it has started, whether or not it has told of it."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_HARD_S):
                await self._link.send({"do": "kill"})
                while await self._link.receive() is not None:
                    pass
        self._link.close()
        # What it has not told of yet is a child of it; nothing else is by now.
        lives = birth_of(self._worker.pid) == self._worker.birth
        unborn = await asyncio.to_thread(children, self._worker.pid) if lives else []
        await ended(self._worker, self._agent, *unborn)

    async def _know(self, agent: Process, born: Callable[[Process], Awaitable[None]]) -> None:
        """One that has ended by then is known to nobody: why it did is told next."""
        if owns(self._worker, agent):
            self._agent = agent
            await born(agent)
        await self._link.send({"do": "known"})


async def ended(worker: Process, *agents: Process | None) -> None:
    """Ends a worker and its agent by force. What an agent has detached is left alone."""
    if birth_of(worker.pid) == worker.birth:
        signalled(worker.pid, _KILL)
    for process in filter(None, agents):
        await processes.end(process, 0)


def of(frame: Frame | None, key: str) -> Any:
    """Raises `Malformed` where the other end has gone, or says something else."""
    if frame is None:
        raise Malformed("nothing: it has ended")
    if key not in frame:
        raise Malformed(f"{frame.get('refused') or sorted(frame)[:3]}, and not {key}")
    return frame[key]
