"""The endpoints for the agents in persons' terminals: `tieline mcp` joins there, and their hooks tell what happens."""

import asyncio
import os
import sys
from pathlib import Path

from fastapi import APIRouter, Request

from adapters import process
from adapters.api.bodies import EventBody, JoinBody
from adapters.api.exchange import Exchange
from adapters.api.processes import Lineage, from_proc
from adapters.api.request import CallerOf, ChannelOf, ExchangeOf, while_connected
from adapters.api.shown import ErrorShown, JoinedShown, TerminalShown, ToldShown
from adapters.api.who import Channel, looked_at
from bridge.caller import Descent
from bridge.errors import Code, Refused
from bridge.terminal import Happening, Joining
from bridge.turn import Process

router = APIRouter(prefix="/v1/terminal", responses={"4XX": {"model": ErrorShown}, "503": {"model": ErrorShown}})

BETWEEN = (b"mcp_stdio_watchdog",)
"""Programs that an agent puts between itself and its servers, as a part of their command line."""

HOSTED = {"codex": b"app-server"}
"""Agents of which several may share one process, which has no terminal, and what its command line says."""

SHELLS = frozenset(
    "bash csh dash fish init ksh login screen sh sshd su sudo systemd tcsh tmuxserver tmux zsh".split()  # noqa: SIM905
)
"""Whoever types `tieline mcp` there is no agent, and all that is typed there later would be taken for one's."""


@router.post("/join")
async def join(exchange: ExchangeOf, channel: ChannelOf, body: JoinBody) -> JoinedShown:
    """Makes the agent that has started the caller a session, until it ends. Who it is, the kernel tells."""
    try:
        pids, joining = await _joining(exchange, channel, body)
        # An agent that the bridge runs, or that another one has started, is told so before anything else.
        session, token = await exchange.terminals.join(pids, joining)
    except Refused as refused:
        await exchange.turned_away(None, channel.wish, refused)
        raise
    return JoinedShown(session=session, token=token)


@router.get("")
async def terminal(exchange: ExchangeOf, by: CallerOf) -> TerminalShown:
    """Who the caller is, where it is an agent in a terminal or comes of one."""
    agent = exchange.terminals.process(by.session) if by.bound else None
    return TerminalShown(session=by.session if agent else None, agent=agent.pid if agent else None)


@router.post("/token")
async def token(exchange: ExchangeOf, by: CallerOf) -> JoinedShown:
    """A further token, for what waits for mail beside an agent. It ends with the agent."""
    return JoinedShown(session=by.session, token=exchange.terminals.token(by))


@router.post("/events")
async def happened(exchange: ExchangeOf, by: CallerOf, body: EventBody) -> ToldShown:
    """What a hook of the agent tells; `notice` is for the agent."""
    return ToldShown.model_validate(await exchange.terminals.happened(by, Happening(body.event)))


@router.post("/wait")
async def wait(exchange: ExchangeOf, by: CallerOf, request: Request) -> ToldShown:
    """Waits until the agent is idle and mail wakes it, however long. One waits at a time."""
    return ToldShown.model_validate(await while_connected(request, exchange.terminals.wait(by)))


async def _joining(exchange: Exchange, channel: Channel, body: JoinBody) -> tuple[tuple[int, ...], Joining]:
    """The caller with its ancestors, and the agent among them that has started it. Raises `Refused` for whatever no
    person has started in a terminal."""
    if channel.token is not None or channel.peer is None:
        raise _no_agent("only an agent that a person has started in a terminal joins as a session")
    lineage, descent = await asyncio.to_thread(looked_at, channel.peer, channel.descent_of)
    if descent is not Descent.FREE:
        raise _no_agent("what an agent has started is no session of its own")
    found = await asyncio.to_thread(_above, lineage)
    if found is None:
        raise _no_agent("nobody can tell which agent has started this program")
    agent, terminal, cwd = found
    if body.client in HOSTED and HOSTED[body.client] in await asyncio.to_thread(_command, agent.pid):
        if not exchange.terminals.hosts(agent) and not await asyncio.to_thread(_in_terminal, lineage.pids):
            raise _no_agent("the process that has started this program comes of no terminal")
        server = Process(lineage.pids[0], process.birth_of(lineage.pids[0]) or "")
        return lineage.pids, Joining(server, body.client, body.cwd, body.session, host=agent)
    if not terminal:
        raise _no_agent("the agent that has started this program has no terminal")
    return lineage.pids, Joining(agent, body.client, cwd or body.cwd, body.session)


def _in_terminal(pids: tuple[int, ...]) -> bool:
    """Whether a host comes of a terminal: of the first agent, which has started it."""
    return any(seen is not None and seen.terminal for seen in map(from_proc, pids[1:]))


def _no_agent(reason: str) -> Refused:
    return Refused(Code.NOT_PERMITTED, reason, remedy="Start the agent in a terminal of yours, and let it start this.")


def _above(lineage: Lineage) -> tuple[Process, bool, str | None] | None:
    for pid in lineage.pids[1:]:
        if any(part in _command(pid) for part in BETWEEN):
            continue
        birth = process.birth_of(pid)
        if birth is None or process.name_of(pid).lstrip("-").partition("-")[0] in SHELLS or pid == 1:
            return None
        if sys.platform != "linux":
            return Process(pid, birth), lineage.terminal, None
        seen = from_proc(pid)
        return Process(pid, birth), seen is not None and seen.terminal, _directory(pid)
    return None


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _directory(pid: int) -> str | None:
    try:
        return os.readlink(f"/proc/{pid}/cwd".encode()).decode("utf-8", "replace")
    except OSError:
        return None
