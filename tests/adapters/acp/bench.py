"""A bench for the runtime: the scripted agent as a real process, and what is heard of it."""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from adapters.acp import AcpRuntime, AgentSpec, Times
from adapters.acp.process import survivors
from bridge.ids import SessionId
from bridge.ports.runtime import Agent, Event, Launch, Prompt, Result
from bridge.question import Answer, Asked, Option, Question
from bridge.turn import Process

ROOT = Path(__file__).parents[3]
NOW = 1_800_000_000.0
TOOL_SERVER = (sys.executable, str(Path(__file__).parent / "mail_server.py"))
E = TypeVar("E", bound=Event)


class FixedClock:
    def now(self) -> float:
        return NOW

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


class Ear:
    """A listener. `choose` answers questions for permission, `answer` all; without it they stay open until they are
    withdrawn."""

    def __init__(
        self, choose: Callable[[Sequence[Option]], str | None] | None = None, *, answer: Answer | None = None
    ) -> None:
        self.answer = answer
        self.events: list[Event] = []
        self.questions: list[Question] = []
        self.withdrawn = 0
        self._choose = choose
        self._news = asyncio.Condition()

    async def happened(self, event: Event) -> None:
        async with self._news:
            self.events.append(event)
            self._news.notify_all()

    async def asked(self, question: Question) -> Answer:
        async with self._news:
            self.questions.append(question)
            self._news.notify_all()
        if self._choose:
            return Answer(Asked.ANSWERED, choice=self._choose(question.options))
        if self.answer is not None:
            return self.answer
        try:
            await asyncio.Event().wait()
        finally:
            self.withdrawn += 1
        raise AssertionError("nobody waits for ever")

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    async def hears(self, kind: type[Event]) -> None:
        async with self._news:
            await self._news.wait_for(lambda: any(isinstance(event, kind) for event in self.events))

    async def is_asked(self) -> None:
        async with self._news:
            await self._news.wait_for(lambda: bool(self.questions))


class Bench:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.cwd = folder / "work"
        self.cwd.mkdir()
        self.stderr: list[str] = []
        self.started: list[Agent] = []
        self.born: list[Process] = []

    def spec(
        self,
        *options: str,
        rules: Sequence[Mapping[str, str]] = (),
        module: str = "adapters.scripted",
        **more: Any,
    ) -> AgentSpec:
        persona = self.folder / "persona.json"
        persona.write_text(json.dumps({"rules": list(rules)}))
        chosen = ("--persona", str(persona), "--state", str(self.folder / "state"), "--record", str(self._record))
        more.setdefault("env", {})
        more["env"] = {"PYTHONPATH": str(ROOT), **more["env"]}
        return AgentSpec("desk", (sys.executable, "-P", "-m", module, *chosen, *options), **more)

    def runtime(
        self,
        spec: AgentSpec | None = None,
        *,
        tools: bool = False,
        base: Mapping[str, str] = os.environ,
        start_s: float = 20,
        stop_s: float = 5,
    ) -> AcpRuntime:
        return AcpRuntime(
            {"desk": spec or self.spec()},
            tool_server=TOOL_SERVER if tools else (),
            base=base,
            clock=FixedClock(),
            times=Times(start_s=start_s, stop_s=stop_s),
            on_stderr=lambda _, line: self.stderr.append(line),
        )

    def launch(self, alias: str | None = None, agent: str = "desk", **more: Any) -> Launch:
        return Launch(SessionId("default/front-desk"), agent, str(self.cwd), alias, **more)

    async def start(self, runtime: AcpRuntime | None = None, alias: str | None = None, **more: Any) -> Agent:
        agent = await (runtime or self.runtime()).start(self.launch(alias, **more), self._bear)
        self.started.append(agent)
        return agent

    async def _bear(self, process: Process) -> None:
        self.born.append(process)

    async def say(self, agent: Agent, words: str, ear: Ear | None = None) -> Result:
        return await agent.prompt(Prompt(words=words), ear or Ear())

    def received(self, method: str | None = None) -> list[dict[str, Any]]:
        """The frames that agents have received, the answers to their requests where no method is given."""
        frames = [json.loads(line) for line in self._record.read_text().splitlines()]
        return [frame for frame in frames if frame.get("method") == method]

    async def end(self) -> None:
        for agent in self.started:
            await agent.close()
            await gone(agent.process)

    @property
    def _record(self) -> Path:
        return self.folder / "received.jsonl"


async def until(holds: Callable[[], object]) -> None:
    """Waits for what another process does, of which nothing else tells."""
    async with asyncio.timeout(10):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def gone(process: Process) -> None:
    """Waits until nothing of a process and its group is left."""
    await until(lambda: not survivors(process))
