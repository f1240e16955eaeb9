"""One turn's prompt in its worker: run once, and on record before it is told."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from adapters.worker.codec import as_json, kind_of
from adapters.worker.journal import Journal, Record
from adapters.worker.terms import Done, Header
from bridge.ports.runtime import Agent, Event, Prompt, Result, Text, Thought
from bridge.question import Answer, Asked, Question
from bridge.turn import Failure, FailureKind

log = logging.getLogger(__name__)

TEXT_BYTES = 1 << 20
"""So much of what an agent shows while it works is kept for a bridge to come. The rest is told, or lost."""
MOST_BYTES = 32 << 20
FLUSH_S = 10.0
"""So long at most a worker that ends waits for what is still to be written."""

QUESTION, ANSWERED, RESULT, ADOPTED = "question", "answered", "result", "adopted"

Tell = Callable[[Record], Awaitable[None]]


class Work:
    """Is told of by `tell`, record by record. A record with the number 0 is not kept."""

    def __init__(self, header: Header, journal: Journal, tell: Tell) -> None:
        self.header = header
        self.journal = journal
        self.epoch = header.execution.epoch
        self.received = 0
        self.result: int | None = None
        self.dropped = False
        self._tell = tell
        self._room = TEXT_BYTES
        self._size = 0
        self._unwritten: str | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._agent: Agent | None = None
        self._questions: dict[int, asyncio.Future[Answer]] = {}

    @property
    def settled(self) -> bool:
        """Its end has been stored by its bridge."""
        return self.result is not None and self.received >= self.result

    async def run(self, agent: Agent, prompt: Prompt) -> None:
        self._agent = agent
        before = len(agent.history.prompts)
        try:
            result = await agent.prompt(prompt, self)
        except Exception as defect:
            log.exception("the prompt ended by a defect")
            detail = f"an internal error: {type(defect).__name__}"
            result = Result("", "error", Failure(FailureKind.CRASH, detail))
        if self.dropped:
            return
        if self._unwritten is not None:
            detail = f"The journal of the turn takes no more records ({self._unwritten}), so it was stopped."
            result = Result("", "error", Failure(FailureKind.CAPACITY, detail, retryable=True))
        record = await self._put(
            RESULT, as_json(Done(result, agent.alive, len(agent.history.prompts) > before)), firmly=True
        )
        self.result = record.number

    def receive(self, number: int) -> None:
        self.received = max(self.received, number)

    async def answer(self, number: int, answer: Answer) -> None:
        """The first answer to a question counts, and the others are the same to whoever gives them."""
        waiting = self._questions.get(number)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    # What the agent tells
    async def happened(self, event: Event, number: int = 0) -> None:
        body = as_json(event)
        if isinstance(event, Text | Thought):
            self._room -= len(event.text)
            if self._room < 0 or self._unwritten is not None:
                await self._tell(Record(0, kind_of(event), body, ""))
                return
        await self._put(kind_of(event), body, firmly=not isinstance(event, Text | Thought))

    async def asked(self, question: Question) -> Answer:
        record = await self._put(QUESTION, as_json(question), firmly=True)
        if record.number == 0:
            return Answer(Asked.CANCELLED)
        waiting = self._questions[record.number] = asyncio.get_running_loop().create_future()
        answer: Answer | None = None
        try:
            answer = await waiting
        finally:
            del self._questions[record.number]
            told = as_json(answer) if answer is not None else None
            await self._put(ANSWERED, {"question": record.number, "answer": told}, firmly=True)
        return answer

    async def _put(self, kind: str, body: dict[str, Any], *, firmly: bool) -> Record:
        """Where it cannot be written it is told all the same, but for nobody to come: the agent has to stop."""
        try:
            if self._size > MOST_BYTES:
                raise OSError("it is full")
            record = self.journal.add(kind, body, firmly=firmly)
            self._size += len(str(body))
        except OSError as error:
            record = Record(0, kind, body, "")
            self._stop(error.strerror or str(error))
        await self._tell(record)
        return record

    def _stop(self, why: str) -> None:
        self._unwritten = self._unwritten or why
        if self._agent is not None and self._stopping is None:
            self._stopping = asyncio.create_task(self._agent.cancel(0))
