"""An agent in a worker, as the bridge uses it.

A later bridge may adopt the worker meanwhile. Then it is that one's, with its journal: this bridge ends neither.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol

from adapters.worker.codec import Malformed, as_json, event_of, read
from adapters.worker.execution import ANSWERED, QUESTION, RESULT
from adapters.worker.link import Frame, Link
from adapters.worker.terms import Done, Ready
from bridge.history import History, digest
from bridge.ids import TurnId
from bridge.ports.runtime import Compressed, Context, Execution, Left, Listener, Prompt, Result
from bridge.question import Question
from bridge.turn import Failure, FailureKind, Process

log = logging.getLogger(__name__)

_END_S = 5.0


class Recorder(Protocol):
    """What is on record of the worker's turns."""

    def taken(self, execution: Execution) -> bool:
        """Whether a later bridge has adopted it."""
        ...

    async def retold(self, execution: Execution, after: int, listener: Listener) -> Result | None:
        """What stands there after that number, once the worker has died."""
        ...

    def forget(self, turn: TurnId) -> None: ...


class RemoteAgent:
    """`bridge.ports.runtime.Agent`. `kill` ends the worker and its agent by force. An orderly end may take `end_s`.
    `name` makes names for prompts of no turn, which nobody adopts."""

    def __init__(
        self,
        link: Link,
        ready: Ready,
        *,
        kill: Callable[[], Awaitable[None]],
        recorder: Recorder,
        end_s: float,
        name: Callable[[], str],
        running: Execution | None = None,
    ) -> None:
        self._link = link
        self._ready = ready
        self._kill = kill
        self._recorder = recorder
        self._end_s = end_s
        self._name = name
        self._alive = ready.alive
        self._history = ready.history
        self._alias = ready.alias
        self._opening: Sequence[str] = ready.opening
        self._execution = running
        self._working = running is not None
        self._told = 0
        self._prompted = False
        self._cancelled = False
        self._superseded = False
        self._ended = asyncio.Event()
        self._frames: asyncio.Queue[Frame | None] = asyncio.Queue(1_000)
        self._idle = asyncio.Event()
        self._idle.set()
        self._closing: asyncio.Future[None] | None = None
        self._hearing = asyncio.create_task(self._hear())

    @property
    def process(self) -> Process:
        return self._ready.process

    @property
    def alias(self) -> str:
        return self._alias

    @property
    def context(self) -> Context:
        return self._ready.context

    @property
    def history(self) -> History:
        return self._history

    @property
    def seal(self) -> str:
        return self._ready.seal

    @property
    def left(self) -> Sequence[Left]:
        return () if self._prompted else self._ready.left

    @property
    def opening(self) -> Sequence[str]:
        return list(self._opening)

    @property
    def alive(self) -> bool:
        return self._alive and self._closing is None and not self._ended.is_set()

    async def prompt(self, prompt: Prompt, listener: Listener) -> Result:
        prompt.check()
        if self._working:
            raise RuntimeError("a prompt is running already")
        await self.forget()
        if prompt.execution is None:
            prompt = replace(prompt, execution=Execution(TurnId(self._name()), 1))
        self._execution = prompt.execution
        self._prompted = True
        earlier, self._history = (
            self._history,
            History((*self._history.prompts, digest([*self._opening, *prompt.parts]))),
        )
        self._told = 0
        done = await self._followed(listener, {"do": "prompt", "prompt": as_json(prompt)})
        if not done.prompted:
            self._history = earlier
        elif done.result.failure is None:
            self._opening = ()
        return done.result

    async def rejoin(self, listener: Listener, after: int) -> Result | None:
        self._told = after
        return (await self._followed(listener, None)).result

    async def forget(self) -> None:
        if self._execution is not None and not self._superseded:
            await self._received(self._told)
            self._recorder.forget(self._execution.turn)
        self._execution = None

    async def cancel(self, grace_s: float) -> None:
        """A worker that does not answer in time is killed with its agent."""
        if not self._working:
            return
        await self._link.send({"do": "cancel", "grace_s": grace_s})
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(grace_s + _END_S):
                    await self._idle.wait()
        finally:
            if not self._idle.is_set():
                self._cancelled = True
                await self._put_down()
        await self._idle.wait()

    async def close(self) -> None:
        if self._closing is None:
            self._closing = asyncio.create_task(self._closed())
        try:
            await asyncio.shield(self._closing)
        except asyncio.CancelledError:
            await self._put_down()
            raise

    async def leave(self) -> None:
        if not self._working or self._ended.is_set():
            await self.close()
        else:
            self._hearing.cancel()
            self._link.close()
            self._closing = asyncio.get_running_loop().create_future()
            self._closing.set_result(None)  # whoever has left it has nothing to close

    async def _closed(self) -> None:
        while not self._frames.empty():  # so that a worker that is told to end is not held up by what nobody hears
            self._frames.get_nowait()
        try:
            await self._link.send({"do": "close"})
            async with asyncio.timeout(self._end_s):
                await self._ended.wait()
        except TimeoutError:
            log.warning("a worker did not end in %g s, and is killed", self._end_s)
        finally:
            await self._put_down()
            self._link.close()
            self._hearing.cancel()

    async def _put_down(self) -> None:
        if not self._is_anothers():
            await self._kill()

    def _is_anothers(self) -> bool:
        if not self._superseded and self._execution is not None:
            self._superseded = self._recorder.taken(self._execution)
        return self._superseded

    async def _hear(self) -> None:
        """Takes what the worker tells until it is gone. A bridge that is slow to store it holds the worker up."""
        try:
            while (frame := await self._link.receive()) is not None:
                if "superseded" in frame:
                    self._superseded = True
                    break
                if "gone" in frame:
                    self._alive = False
                elif self._closing is None:
                    await self._frames.put(frame)
            self._ended.set()
            await self._frames.put(None)
        finally:
            self._ended.set()

    async def _followed(self, listener: Listener, order: Frame | None) -> Done:
        """From an order to the end of the prompt."""
        self._working = True
        self._idle.clear()
        interrupted = True
        try:
            if order is not None:
                await self._link.send(order)
            async with asyncio.TaskGroup() as asking:
                questions: dict[int, asyncio.Task[None]] = {}
                try:
                    done = await self._heard(listener, asking, questions)
                finally:
                    for task in questions.values():
                        task.cancel()
            self._working = interrupted = False
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        finally:
            self._idle.set()
            self._alive = self._alive and not interrupted
        self._alive = self._alive and done.alive
        return done

    async def _heard(
        self, listener: Listener, asking: asyncio.TaskGroup, questions: dict[int, asyncio.Task[None]]
    ) -> Done:
        while (frame := await self._frames.get()) is not None:
            try:
                if "refused" in frame:
                    return Done(Result("", "error", read(Failure, frame["refused"])), alive=False, prompted=False)
                done = await self._took(frame, listener, asking, questions)
            except Malformed as error:
                await self._put_down()
                problem = Failure(FailureKind.CRASH, f"The worker told what cannot be: {error}.")
                return Done(Result("", "error", problem, unsure=True), alive=False)
            if done is not None:
                return done
        return await self._died(listener)

    async def _took(
        self, frame: Frame, listener: Listener, asking: asyncio.TaskGroup, questions: dict[int, asyncio.Task[None]]
    ) -> Done | None:
        number, kind, body = read(int, frame.get("tell", -1)), read(str, frame.get("kind", "")), frame.get("body")
        mine = self._execution is not None and frame.get("turn") == self._execution.turn
        if number < 0 or 0 < number <= self._told or not mine:
            return None
        if number > self._told + 1:
            raise Malformed(f"the record {number} before the record {self._told + 1}")
        if kind == RESULT:
            self._told = max(self._told, number)
            return read(Done, body)
        if kind == QUESTION:
            question = read(Question, body)
            if "over" not in frame:
                questions[number] = asking.create_task(self._ask(number, question, listener))
        elif kind == ANSWERED and isinstance(body, dict):
            task = questions.pop(read(int, body.get("question")), None)
            if task is not None:
                task.cancel()
        elif (event := event_of(kind, body)) is not None:
            if isinstance(event, Compressed):
                self._alias = event.alias
            await listener.happened(event, number)
            await self._received(number)
        self._told = max(self._told, number)
        return None

    async def _ask(self, number: int, question: Question, listener: Listener) -> None:
        answer = await listener.asked(question)
        if self._execution is not None:
            turn = self._execution.turn
            await self._link.send({"do": "answer", "turn": turn, "question": number, "answer": as_json(answer)})

    async def _received(self, number: int) -> None:
        if number > 0 and self._execution is not None:
            await self._link.send({"do": "received", "turn": self._execution.turn, "number": number})

    async def _died(self, listener: Listener) -> Done:
        """The worker is gone in the middle of the turn: what it had on record is told, and its agent must not go on.
        What the agent told last may not have come to the worker."""
        if self._is_anothers():
            log.warning("a later bridge has adopted the worker of pid %d", self.process.pid)
            problem = Failure(FailureKind.CRASH, "A later bridge goes on with the turn.")
            return Done(Result("", "error", problem, unsure=True), alive=False)
        await self._kill()
        result = None
        if self._execution is not None:
            result = await self._recorder.retold(self._execution, self._told, listener)
        if result is None and self._cancelled:
            result = Result("", "cancelled", cancelled=True)
        problem = Failure(FailureKind.CRASH, "The process that ran the agent has ended in the middle of the turn.")
        return Done(result or Result("", "error", problem, unsure=True), alive=False)
