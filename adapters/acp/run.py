"""One running prompt: what its updates tell, its final text, and its questions."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from adapters.acp.tools import call_of, name_of, reads, result_of
from bridge.ports.runtime import Compressed, Event, Listener, Text, Thought, ToolBegun, ToolEnded
from bridge.question import Answer, Asked, Question
from bridge.redaction import SHAPES, Redaction
from bridge.results import DATA_CHARS, NAME_CHARS, TITLE_CHARS

if TYPE_CHECKING:
    from acp.schema import (
        AgentMessageChunk,
        AgentThoughtChunk,
        AudioContentBlock,
        EmbeddedResourceContentBlock,
        ImageContentBlock,
        ResourceContentBlock,
        TextContentBlock,
        ToolCallProgress,
        ToolCallStart,
    )

    Content = (
        TextContentBlock | ImageContentBlock | AudioContentBlock | ResourceContentBlock | EmbeddedResourceContentBlock
    )
    Update = AgentMessageChunk | AgentThoughtChunk | ToolCallStart | ToolCallProgress


MOST_CHARS = 8 * 2**20
"""How much of what an agent says is kept, whatever it says."""
MOST_UNTOLD = 2**20
"""How many characters of text may wait to be told: who listens that slowly misses some."""
MOST_CALLS = 5_000
"""How many tool calls of one prompt are told."""
MOST_REMARKED = 4_000
"""How many characters of a chunk that belongs to no message are kept."""
MOST_ASKED = 16
"""How many questions wait at a time; what is asked beyond them is answered at once."""

_ASKED_CHARS = 20_000

_CANCELLED = Answer(Asked.CANCELLED, reason="the turn is over")
_TOO_MANY = Answer(Asked.UNDELIVERED, reason="too many questions at a time")


@dataclass(frozen=True, slots=True)
class _Put:
    question: Question
    answer: asyncio.Future[Answer]


@dataclass(slots=True)
class _Call:
    """A tool call, as the agent has described it by now."""

    name: str
    title: str = ""
    arguments: str = ""
    ended: bool = False


class Run:
    """Updates are taken as they come and told to the listener one after the other, at its own speed.

    `answered` is set once the agent has ended the prompt, in whatever way. What it `announces` in chunks that belong to
    no message is no part of its answer. `broken` is set where it says that the turn has failed, and `remark` is what it
    has said last in a chunk that belongs to no message.
    """

    def __init__(
        self,
        now: Callable[[], float],
        redaction: Redaction = SHAPES,
        announces: Callable[[str], bool] = lambda _: False,
    ) -> None:
        self._now = now
        self._announces = announces
        self._redaction = redaction
        self._asked = 0
        self.cancelled = False
        self.broken = False
        self.remark = ""
        self.answered = asyncio.Event()
        self._over = False
        self._heard = False
        self._final: list[str] = []
        self._room = MOST_CHARS
        self._calls: dict[str, _Call] = {}
        self._pending: list[asyncio.Future[Answer]] = []
        self._items: deque[Event | _Put | None] = deque()
        self._untold = 0
        self._news = asyncio.Event()

    @property
    def final(self) -> str:
        """The visible text since the last tool call began, up to `MOST_CHARS`."""
        return "".join(self._final).strip()

    @property
    def refuses(self) -> bool:
        """Whether questions are answered as cancelled."""
        return self.cancelled or self._over

    def hidden(self, text: str | None) -> str:
        """Without secrets, and without what is cut away of any question."""
        return self._redaction.redacted((text or "")[:_ASKED_CHARS])

    def hear(self, update: "Update") -> None:
        """Takes one update. What comes after the result is dropped."""
        if self._over:
            return
        if update.session_update == "agent_message_chunk":
            text = getattr(update.content, "text", "") if update.message_id is None else ""
            banner = bool(text) and self._announces(text)
            if text and not banner:
                self.remark = text[:MOST_REMARKED].strip()
            self._say(update.content, Thought if banner else Text)
        elif update.session_update == "agent_thought_chunk":
            self._say(update.content, Thought)
        else:
            self._tool(update)

    def compressed(self, alias: str) -> None:
        if not self._over:
            self._tell(Compressed(alias))

    async def ask(self, question: Question) -> Answer:
        """The listener's answer; the question gets its number here."""
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        if self.refuses:
            return _CANCELLED
        self._asked += 1
        if len(self._pending) >= MOST_ASKED:
            return _TOO_MANY
        self._pending.append(answer)
        self._tell(_Put(replace(question, number=self._asked), answer))
        try:
            return await answer
        finally:
            self._pending.remove(answer)

    def cancel(self) -> bool:
        """Answers pending questions as cancelled. True where the cancel may leave the agent wedged: amid a tool
        call, at a question, or before the agent has shown anything."""
        risky = not self._heard or bool(self._pending) or not all(call.ended for call in self._calls.values())
        self.cancelled = True
        self._release()
        return risky

    def end(self) -> None:
        """The result is there: `tell` ends once it has told what had come before."""
        self._over = True
        self._release()
        self._tell(None)

    async def tell(self, listener: Listener) -> None:
        while (item := await self._next()) is not None:
            if isinstance(item, _Put):
                await self._put(item, listener)
            else:
                await listener.happened(item)

    async def _next(self) -> Event | _Put | None:
        while not self._items:
            self._news.clear()
            await self._news.wait()
        item = self._items.popleft()
        if isinstance(item, Text | Thought):
            self._untold -= len(item.text)
        return item

    def _tell(self, item: Event | _Put | None) -> None:
        self._items.append(item)
        self._news.set()

    async def _put(self, asked: _Put, listener: Listener) -> None:
        """Asks the listener, for as long as the question is open."""
        if asked.answer.done():
            return
        asking = asyncio.create_task(listener.asked(replace(asked.question, asked_at=self._now())))
        try:
            await asyncio.wait({asking, asked.answer}, return_when=asyncio.FIRST_COMPLETED)
            if not asked.answer.done():
                asked.answer.set_result(asking.result())
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            if not asked.answer.done():
                asked.answer.set_result(_CANCELLED)

    def _release(self) -> None:
        for answer in self._pending:
            if not answer.done():
                answer.set_result(_CANCELLED)

    def _say(self, content: "Content", kind: type[Text] | type[Thought]) -> None:
        if content.type != "text" or not content.text:
            return
        self._heard = True
        if kind is Text and self._room > 0:
            self._final.append(content.text[: self._room])
            self._room -= len(self._final[-1])
        if self._untold < MOST_UNTOLD:
            self._untold += len(content.text)
            self._tell(kind(content.text))

    def _tool(self, update: "ToolCallStart | ToolCallProgress") -> None:
        """A call that was never announced, only updated, counts as begun by its first update."""
        self._heard = True
        ident = call_of(update)
        call = self._calls.get(ident)
        begins = call is None
        if call is None:
            if len(self._calls) >= MOST_CALLS:
                return
            call = self._calls[ident] = _Call(self._shown(name_of(update), NAME_CHARS))
            self._final.clear()
            self._room = MOST_CHARS
        call.title = self._shown(update.title, TITLE_CHARS) or call.title
        call.arguments = self._shown(update.raw_input, DATA_CHARS) or call.arguments
        if begins:
            self._tell(ToolBegun(ident, call.name, reads(update), call.title, call.arguments))
        if update.status in ("completed", "failed") and not call.ended:
            call.ended = True
            ok, result = update.status == "completed", self._shown(result_of(update), DATA_CHARS)
            self._tell(ToolEnded(ident, ok, call.name, call.title, call.arguments, result))

    def _shown(self, data: object, limit: int) -> str:
        return self._redaction.shown(data, limit) if data else ""
