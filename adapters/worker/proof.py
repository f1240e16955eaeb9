"""Whether who says to be a worker is it (DESIGN §8). What is proven is what the kernel says, never what came."""

import os
import socket
from dataclasses import dataclass

from adapters.process import ancestors, birth_of
from adapters.sockets import peer_of
from bridge.turn import Process

HOPS = 4
"""So far may a worker be below the process that was started."""


@dataclass(frozen=True, slots=True)
class Hello:
    """How a worker introduces itself. `ancestors` begin with its parent."""

    pid: int
    birth: str
    ancestors: tuple[int, ...] = ()


class Unproven(Exception):
    """Whoever says to be a worker is not."""


def own_hello() -> Hello:
    me, *above = ancestors(os.getpid(), HOPS)
    return Hello(me.pid, me.birth, tuple(one.pid for one in above))


def descends(hello: Hello, started: Process) -> Process:
    """The process that says hello, if it is the one that was started or at most `HOPS` below it. Raises `Unproven`."""
    process = lives(hello)
    line = ancestors(process.pid, HOPS)
    if started not in line:
        raise Unproven(f"pid {hello.pid} does not come of pid {started.pid}, which was started")
    told = (hello.pid, *hello.ancestors)
    if started.pid not in told[: HOPS + 1]:
        raise Unproven(f"pid {hello.pid} says to come of others than pid {started.pid}")
    return process


def lives(hello: Hello) -> Process:
    """Raises `Unproven`."""
    if hello.pid == os.getpid():
        raise Unproven("it says to be the bridge itself")
    if hello.pid <= 1 or not hello.birth:
        raise Unproven("it does not say who it is")
    birth = birth_of(hello.pid)
    if birth is None:
        raise Unproven(f"pid {hello.pid} does not live")
    if birth != hello.birth:
        raise Unproven(f"pid {hello.pid} was not born when it says")
    return Process(hello.pid, birth)


def owns(worker: Process, agent: Process) -> bool:
    """Whether the agent is a child of the worker, or at most `HOPS` below it. Raises `Unproven` where it lives, and is
    not; one that has ended, as an agent may at any time, is nobody's."""
    if birth_of(agent.pid) != agent.birth:
        return False
    line = ancestors(agent.pid, HOPS)
    if agent in line and worker not in line:
        raise Unproven(f"pid {agent.pid} is no agent of pid {worker.pid}")
    return agent in line


def peer_pid(connection: socket.socket) -> int | None:
    """The process at the other end of a unix socket: the one that connected, or the one that listens. None where the
    kernel does not tell, or it is another user's."""
    peer = peer_of(connection)
    return peer[0] if peer is not None and peer[1] in (None, os.getuid()) else None
