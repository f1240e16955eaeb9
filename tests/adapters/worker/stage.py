"""A worker in this process: the real host over a socket pair, and an agent that does what it is told to."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from adapters.worker.codec import as_json
from adapters.worker.folder import Folder
from adapters.worker.host import Host
from adapters.worker.journal import Journal
from adapters.worker.link import Frame, Link
from adapters.worker.proof import Hello
from adapters.worker.terms import Claim, Scope, Start
from bridge.history import History, digest
from bridge.ids import SessionId, TurnId
from bridge.launching import Definition
from bridge.ports.runtime import Agent, Context, Event, Execution, Launch, Left, Listener, Prompt, Result
from bridge.question import Answer, Question
from bridge.turn import Process


async def _never(process: Process) -> None:
    await asyncio.Event().wait()


NOBODY = Process(2**22 + 7, "1 never")
"""What the worker says to be: a process that has ended, for whoever comes later."""
AGENT = Process(2**22 + 8, "1 never")
LAUNCH = Launch(SessionId("default/desk"), "desk", "/srv", "context-1", seal="sealed")
SCOPE = Scope(LAUNCH.session, LAUNCH.agent, LAUNCH.cwd, "context-1")


class Actor:
    """`bridge.ports.runtime.Agent`. What it is to do next is put into `steps`: to tell an event, to ask a question, or
    to end with a result."""

    process = AGENT
    context = Context.RESUMED
    seal = LAUNCH.seal
    left: Sequence[Left] = ()
    opening: Sequence[str] = ()

    def __init__(self) -> None:
        self.alias = "context-1"
        self.alive = True
        self.history = History()
        self.prompted: list[TurnId] = []
        self.answers: list[Answer] = []
        self.closed = 0
        self.cancelled = False
        self.steps: asyncio.Queue[Event | Question | Result] = asyncio.Queue()
        self.unable: Exception | None = None

    async def prompt(self, prompt: Prompt, listener: Listener) -> Result:
        assert prompt.execution
        self.prompted.append(prompt.execution.turn)
        self.history = History((*self.history.prompts, digest(prompt.parts)))
        while True:
            match await self.steps.get():
                case Result() as result:
                    return result
                case Question() as question:
                    self.answers.append(await listener.asked(question))
                case event:
                    await listener.happened(event)

    async def cancel(self, grace_s: float) -> None:
        self.cancelled = True
        self.steps.put_nowait(Result("", "cancelled", cancelled=True))

    async def close(self) -> None:
        self.closed += 1
        if self.unable is not None:
            raise self.unable

    async def leave(self) -> None:
        await self.close()

    async def forget(self) -> None: ...

    async def rejoin(self, listener: Listener, after: int) -> Result | None:
        return None


class Company:
    """`bridge.ports.runtime.Runtime` of the one actor."""

    def __init__(self, actor: Actor) -> None:
        self.actor = actor

    def knows(self, agent: str) -> bool:
        return True

    def names(self) -> Sequence[str]:
        return ()

    def embeds(self, agent: str) -> bool:
        return False

    def definition(self, agent: str) -> Definition | None:
        return None

    async def start(self, launch: Launch, born: Callable[[Process], Awaitable[None]]) -> Agent:
        await born(AGENT)
        return self.actor

    async def adopt(self, launch: Launch, process: Process, execution: Execution, after: int) -> Agent | None:
        return None

    async def end(self, process: Process) -> None: ...


async def quiet() -> None:
    """Returns once all that is under way in this process, over its sockets too, has come to rest."""
    for _ in range(60):
        await asyncio.sleep(0)


@dataclass
class Peer:
    """A bridge at the other end of a link: what it got lies in `frames`."""

    link: Link
    frames: list[Frame] = field(default_factory=list)
    gone: bool = False
    _hearing: "asyncio.Task[None] | None" = None

    def hear(self) -> "Peer":
        self._hearing = asyncio.create_task(self._hear())
        return self

    async def _hear(self) -> None:
        while (frame := await self.link.receive()) is not None:
            self.frames.append(frame)
        self.gone = True

    def stands_still(self) -> None:
        """It reads nothing more, as a bridge that was stopped."""
        transport: Any = self.link._writer.transport
        transport.pause_reading()

    async def send(self, **frame: Any) -> None:
        await self.link.send(frame)
        await quiet()

    async def prompts(self, turn: str, epoch: int = 1, words: str = "do it") -> None:
        prompt = Prompt(words=words, execution=Execution(TurnId(turn), epoch))
        await self.send(do="prompt", prompt=as_json(prompt))

    async def claims(self, turn: str, epoch: int, after: int = 0, scope: Scope = SCOPE) -> Frame | None:
        """What becomes of a claim: `adopted` or `refused`."""
        await self.send(adopt=as_json(Claim(Execution(TurnId(turn), epoch), scope, after)))
        return next((frame for frame in self.frames if "adopted" in frame or "refused" in frame), None)

    def told(self) -> list[Frame]:
        return [frame for frame in self.frames if "tell" in frame]

    async def leaves(self) -> None:
        if self._hearing is not None:
            self._hearing.cancel()
        self.link.close()
        await quiet()


class Stage:
    """One worker, from its start to its end or crash."""

    def __init__(
        self,
        path: Path,
        *,
        name: str = "worker-1",
        grace_s: float = 1_000,
        journal: Callable[[Path, str, Mapping[str, Any]], Journal] = Journal,
    ) -> None:
        self.folder = Folder(path)
        self.name = name
        self.actor = Actor()
        self.over = asyncio.Event()
        start = Start(name, str(path), LAUNCH, {}, grace_s, str(path / "log"))
        self.host = Host(
            start,
            self.folder,
            Company(self.actor),
            self.over,
            admits=lambda _: True,
            journal=journal,
            me=lambda: Hello(NOBODY.pid, NOBODY.birth),
            ends=_never,
        )

    async def opens(self) -> Peer:
        """The bridge that has started it."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        theirs.setblocking(False)
        listener = self.folder.listen(self.name)
        self.serving = asyncio.create_task(self.host.serve(await Link.over(theirs), listener))
        peer = Peer(await Link.over(ours)).hear()
        await quiet()
        await peer.send(do="known")
        return peer

    async def visited(self) -> Peer:
        """Another one."""
        peer = Peer(await Link.over(self.folder.connect(self.name))).hear()
        await quiet()
        return peer

    async def does(self, *steps: Event | Question | Result) -> None:
        for step in steps:
            self.actor.steps.put_nowait(step)
            await quiet()

    async def ends(self) -> None:
        self.over.set()
        await self.serving
        self.folder.forget(self.name)

    async def crashes(self) -> None:
        """What it would still write as it is torn down was never written."""
        kept = {turn: self.folder.journal(turn).read_bytes() for turn in self.folder.journals()}
        self.serving.cancel()
        await asyncio.gather(self.serving, return_exceptions=True)
        for turn, data in kept.items():
            self.folder.journal(turn).write_bytes(data)
        self.folder.forget(self.name)
