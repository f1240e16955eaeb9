"""One turn's prompt in its worker: run once, and on record before it is told."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from adapters.worker.codec import as_json, kind_of
from adapters.worker.journal import Journal, Record
from adapters.worker.terms import Done, Header
from bridge.ports.runtime import Agent, Event, Prompt, Result, Text, Thought
from bridge.question import Answer, Asked, Question
from bridge.results import FINAL_CHARS
from bridge.turn import Failure, FailureKind

log = logging.getLogger(__name__)

TEXT_CHARS = 1 << 20
"""So much of what an agent shows while it works is kept for a bridge to come. The rest is told, or lost."""
MOST_BYTES = 32 << 20
"""Of a journal: then it takes the turn's end, and nothing before it."""
FLUSH_S = 10.0
"""So long at most a worker that ends waits for what is still to be written."""

QUESTION, ANSWERED, RESULT, ADOPTED = "question", "answered", "result", "adopted"


class Work:
    """Is told of by `tell`, record by record. A record with the number 0 is not kept."""

    def __init__(self, header: Header, journal: Journal, tell: Callable[["Work", Record], Awaitable[None]]) -> None:
        self.header = header
        self.journal = journal
        self.received = 0
        self.result: int | None = None
        self.dropped = False
        self._tell = tell
        self._room = TEXT_CHARS
        self._unwritten: str | None = None
        self._stopping: asyncio.Task[None] | None = None
        self._agent: Agent | None = None
        self._questions: dict[int, asyncio.Future[Answer]] = {}

    @property
    def settled(self) -> bool:
        """Its end has been stored by its bridge."""
        return self.result is not None and self.received >= self.result

    @property
    def whole(self) -> bool:
        """All of it is on record."""
        return self._unwritten is None

    def asks(self, question: int) -> bool:
        """Whether that record is a question that is still open."""
        return question in self._questions

    async def run(self, agent: Agent, prompt: Prompt) -> None:
        self._agent = agent
        before = len(agent.history.prompts)
        try:
            result = await agent.prompt(prompt, self)
        except Exception as defect:
            log.exception("the prompt ended by a defect")
            detail = f"an internal error: {type(defect).__name__}"
            result = Result("", "error", Failure(FailureKind.CRASH, detail))
        if self._stopping is not None:
            await asyncio.wait([self._stopping])
        if self.dropped:
            return
        if self._unwritten is not None:
            detail = f"The journal of the turn takes no more records ({self._unwritten}), so it was stopped."
            result = Result("", "error", Failure(FailureKind.CAPACITY, detail, retryable=True))
        # What its owner keeps is cut there, and said to be: for that it must be longer.
        result = replace(result, final=result.final[: 2 * FINAL_CHARS])
        done = Done(result, agent.alive, len(agent.history.prompts) > before)
        self._agent = None  # which has ended its work, and is stopped by nothing any more
        record = self._recorded(RESULT, as_json(done), firmly=True)
        self.result = record.number
        await self._tell(self, record)

    def receive(self, number: int) -> None:
        self.received = max(self.received, number)

    async def answer(self, number: int, answer: Answer) -> None:
        """The first answer to a question counts, and the others are the same to whoever gives them."""
        waiting = self._questions.get(number)
        if waiting is not None and not waiting.done():
            waiting.set_result(answer)

    # What the agent tells
    async def happened(self, event: Event, number: int = 0) -> None:
        shown = isinstance(event, Text | Thought)
        if isinstance(event, Text | Thought):
            event = replace(event, text=event.text[:TEXT_CHARS])
            self._room -= len(event.text)
        kind, body = kind_of(event), as_json(event)
        if self._unwritten is not None or (shown and self._room < 0) or self.journal.size > MOST_BYTES:
            record = Record(0, kind, body, "")
            if not shown:
                self._stop("it is full")
        else:
            record = self._recorded(kind, body, firmly=not shown)
        await self._tell(self, record)

    async def asked(self, question: Question) -> Answer:
        record = self._recorded(QUESTION, as_json(question), firmly=True)
        if record.number == 0:
            return Answer(Asked.CANCELLED)
        waiting = self._questions[record.number] = asyncio.get_running_loop().create_future()
        answer: Answer | None = None
        try:
            await self._tell(self, record)
            answer = await waiting
        finally:
            del self._questions[record.number]
            told = as_json(answer) if answer is not None else None
            over = self._recorded(ANSWERED, {"question": record.number, "answer": told}, firmly=True)
            await self._tell(self, over)
        return answer

    def _recorded(self, kind: str, body: dict[str, Any], *, firmly: bool) -> Record:
        """Where it cannot be written it may be told, but to nobody who comes later: the agent has to stop."""
        try:
            return self.journal.add(kind, body, firmly=firmly)
        except OSError as error:
            self._stop(error.strerror or str(error))
            return Record(0, kind, body, "")

    def _stop(self, why: str) -> None:
        self._unwritten = self._unwritten or why
        if self._agent is not None and self._stopping is None:
            self._stopping = asyncio.create_task(self._agent.cancel(0))
