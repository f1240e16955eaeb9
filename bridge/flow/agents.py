"""The agents that are running: one process a session, started when needed, closed when idle (DESIGN §6)."""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from bridge.flow.ledger import Ledger
from bridge.gateway import gateway_of
from bridge.ids import SessionId
from bridge.launching import Definition
from bridge.ports.runtime import Agent, Execution, Launch, Runtime, StartFailed
from bridge.session import Session
from bridge.token import digest_of
from bridge.turn import Failure, FailureKind, Process, Turn

TOKEN_VARIABLE = "TIELINE_TOKEN"

log = logging.getLogger(__name__)


@dataclass(slots=True)
class _Running:
    """`started_with` is what the session said of it then. `ended` is there once it is being closed, and is set once it
    is gone. `by_bridge` says that the bridge has started it, with its tools: a gateway brings its own."""

    agent: Agent
    started_with: object
    digest: str
    by_bridge: bool
    idle: asyncio.Task[None] | None = field(default=None)
    ended: asyncio.Event | None = field(default=None)


class Agents:
    def __init__(
        self,
        ledger: Ledger,
        runtime: Runtime,
        tasks: asyncio.TaskGroup,
        tools: Mapping[str, str],
        present: Callable[[str], bool] = lambda agent: True,
    ) -> None:
        self._ledger = ledger
        self._tools = tools
        self._runtime = runtime
        self._present = present
        self._tasks = tasks
        self._running: dict[SessionId, _Running] = {}
        self._processes: dict[SessionId, Process] = {}
        self._tokens: dict[str, SessionId] = {}
        self._over: dict[str, asyncio.Event] = {}
        self._connections: Counter[str] = Counter()
        self._permitted: Collection[str] | None = None

    async def ready(
        self, session: Session, born: Callable[[Process], Awaitable[None]], *, to_show: bool = False
    ) -> Agent:
        """The session's agent, started or resumed where it does not run; no two of one session are there at once.
        Raises `StartFailed`. A new process is given to `born` before it can act. `to_show` is as in `Launch`."""
        running = self._running.get(session.id)
        name = session.answers
        known = name is not None and self.configured(name)
        if running is not None:
            if running.idle is not None and running.ended is None:
                running.idle.cancel()
                running.idle = None
            same = known and running.started_with == _start(session)
            if same and running.agent.alive and running.ended is None:
                return running.agent
            await self.retire(session.id)
        if name is None or not known:
            unknown = f"no agent named {name!r} is configured for {session.id}"
            remedy = "a new one of tieline.toml holds from the bridge's next start, or once an operator accepts it"
            raise StartFailed(Failure(FailureKind.CONFIG, f"{unknown}: {remedy}"))
        token = f"{self._ledger.randomness.getrandbits(256):064x}"
        digest = digest_of(token)
        self._tokens[digest] = session.id
        secrets = {**self._tools, TOKEN_VARIABLE: token}
        launch = replace(_launch(session, name), secrets=secrets, to_show=to_show, seal=digest)

        async def bear(process: Process) -> None:
            self._processes[session.id] = process
            await born(process)

        try:
            agent = await self._runtime.start(launch, bear)
        except BaseException:
            del self._tokens[digest]
            self._end(digest)
            self._processes.pop(session.id, None)
            raise
        self._running[session.id] = _Running(agent, _start(session), digest, gateway_of(name) is None)
        return agent

    async def adopt(self, session: Session, turn: Turn) -> Agent | None:
        """The agent that an earlier bridge left at work on a turn, or what is recorded of its work. None where there
        is nothing of it."""
        name = session.answers
        if name is None or turn.process is None or session.id in self._running:
            return None
        execution = Execution(turn.id, turn.epoch)
        agent = await self._runtime.adopt(_launch(session, name), turn.process, execution, turn.heard)
        if agent is not None and agent.alive:
            self._running[session.id] = _Running(agent, _start(session), agent.seal, gateway_of(name) is None)
            self._processes[session.id] = agent.process
            self._tokens[agent.seal] = session.id
        return agent

    def release(self, session: SessionId) -> None:
        """The session's turn is over: its agent is closed after `idle_close_s` without another."""
        running = self._running.get(session)
        if running is not None and running.idle is None:
            closing = self._close_when_idle(session, running)
            try:
                running.idle = self._tasks.create_task(closing)
            except RuntimeError:
                # The group takes no more tasks: the bridge is ending, and its agents end with it.
                closing.close()

    async def retire(self, session: SessionId, *, leave: bool = False) -> None:
        """Ends the session's agent and its token, and returns once it is gone. Does nothing where none runs."""
        running = self._running.get(session)
        if running is None:
            return
        if running.ended is not None:
            await running.ended.wait()
            return
        running.ended = asyncio.Event()
        self._tokens.pop(running.digest, None)
        if leave:
            # Its connections end with this bridge, and go on with the next one.
            self._over.pop(running.digest, None)
        else:
            self._end(running.digest)
        if running.idle is not None and running.idle is not asyncio.current_task():
            running.idle.cancel()
        try:
            await (running.agent.leave() if leave else running.agent.close())
        finally:
            del self._running[session], self._processes[session]
            self._connections.pop(running.digest, None)
            running.ended.set()

    async def close(self) -> None:
        """The bridge ends. Agents at work on a turn stay for the next one, as long as they may."""
        async with asyncio.TaskGroup() as closing:
            for session in list(self._running):
                closing.create_task(self.retire(session, leave=True))

    @contextmanager
    def tools(self, token: str) -> Iterator[None]:
        """A connection of the tool server that was given `token`, while it lasts."""
        digest = digest_of(token)
        self._connections[digest] += 1
        try:
            yield
        finally:
            self._connections[digest] -= 1
            if digest not in self._tokens:
                self._connections.pop(digest, None)

    def deaf(self, session: SessionId) -> bool:
        """Whether its agent runs without its tools: then it cannot read mail until it is started again."""
        running = self._running.get(session)
        return running is not None and running.by_bridge and not self._connections[running.digest]

    def live(self, session: SessionId) -> bool:
        running = self._running.get(session)
        return running is not None and running.agent.alive

    def session_of_token(self, token: str) -> SessionId | None:
        return self._tokens.get(digest_of(token))

    def ended(self, token: str) -> asyncio.Event | None:
        """Set once the token ends with its agent. None where there is no such token."""
        digest = digest_of(token)
        return self._over.setdefault(digest, asyncio.Event()) if digest in self._tokens else None

    def _end(self, digest: str) -> None:
        over = self._over.pop(digest, None)
        if over is not None:
            over.set()

    def session_of(self, pids: Sequence[int]) -> SessionId | None:
        """The session whose agent process is among `pids`: a process and its ancestors. An agent is known from its
        birth until it is gone."""
        return next((session for session, process in self._processes.items() if process.pid in pids), None)

    async def end(self, process: Process) -> None:
        """Makes sure that an agent of an earlier bridge is gone."""
        await self._runtime.end(process)

    def permit(self, names: Collection[str]) -> None:
        """No other agents are started or prompted from now on."""
        self._permitted = frozenset(names)

    def configured(self, agent: str) -> bool:
        """Gateways are paired, and not named by the file."""
        permitted = self._permitted is None or agent in self._permitted or gateway_of(agent) is not None
        return permitted and self._runtime.knows(agent)

    def names(self) -> Sequence[str]:
        """The agents that the operator's file has, and that may run."""
        return [name for name in self._runtime.names() if self.configured(name)]

    def present(self, session: Session) -> bool:
        """Whether its agent can take work now: one of a gateway only while that is there. Whoever brings it back hints
        the lane."""
        return session.answers is None or self._present(session.answers)

    def definition(self, agent: str) -> Definition | None:
        return self._runtime.definition(agent)

    def embeds(self, session: Session) -> bool:
        name = session.answers
        if name is None or not self._runtime.embeds(name):
            return False
        frozen = session.frozen.definition(name) if session.frozen is not None else None
        return frozen is None or frozen.embed

    async def _close_when_idle(self, session: SessionId, running: _Running) -> None:
        await self._ledger.clock.sleep(self._ledger.limits.idle_close_s)
        if self._running.get(session) is running:
            log.info("%s: its agent was idle and is closed", session)
            await self.retire(session)


def _launch(session: Session, agent: str) -> Launch:
    stands_in = session.answering is not None
    return Launch(
        session.id,
        agent,
        session.cwd or "~",
        session.alias,
        # Model and consent are of the session's own agent; what one is kept from goes for all of them.
        options=replace(session.options, model=None, hooks=False) if stands_in else session.options,
        definition=session.frozen.definition(agent) if session.frozen is not None else None,
    )


def _start(session: Session) -> object:
    """What an agent that runs must have been started with, to be prompted for the session as it is by now."""
    return session.answers, session.cwd, session.frozen
