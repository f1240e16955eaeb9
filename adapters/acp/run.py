"""One running prompt: what its updates tell, its final text, and its questions."""

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from adapters.acp.tools import name_of, reads_only
from bridge.ports.runtime import Event, Listener, Question, Text, Thought, ToolBegun, ToolEnded

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


@dataclass(frozen=True, slots=True)
class _Asked:
    question: Question
    answer: asyncio.Future[str | None]


class Run:
    """Updates are taken as they come and told to the listener one after the other, at its own speed.

    `answered` is set once the agent has ended the prompt, in whatever way.
    """

    def __init__(self) -> None:
        self.cancelled = False
        self.answered = asyncio.Event()
        self._over = False
        self._heard = False
        self._final: list[str] = []
        self._room = MOST_CHARS
        self._tools: dict[str, bool] = {}
        self._pending: list[asyncio.Future[str | None]] = []
        self._items: asyncio.Queue[Event | _Asked | None] = asyncio.Queue()

    @property
    def final(self) -> str:
        """The visible text since the last tool call began, up to `MOST_CHARS`."""
        return "".join(self._final).strip()

    @property
    def refuses(self) -> bool:
        """Whether questions are answered as cancelled."""
        return self.cancelled or self._over

    def hear(self, update: "Update") -> None:
        """Takes one update. What comes after the result is dropped."""
        if self._over:
            return
        if update.session_update == "agent_message_chunk":
            self._say(update.content, Text)
        elif update.session_update == "agent_thought_chunk":
            self._say(update.content, Thought)
        else:
            self._tool(update)

    async def ask(self, question: Question) -> str | None:
        """The listener's answer, or None; `refuses` tells whether it was asked in vain."""
        answer: asyncio.Future[str | None] = asyncio.get_running_loop().create_future()
        if self.refuses:
            return None
        self._pending.append(answer)
        self._items.put_nowait(_Asked(question, answer))
        try:
            return await answer
        finally:
            self._pending.remove(answer)

    def cancel(self) -> bool:
        """Answers pending questions as cancelled. True where the cancel may leave the agent wedged: amid a tool
        call, at a question, or before the agent has shown anything."""
        risky = not self._heard or bool(self._pending) or not all(self._tools.values())
        self.cancelled = True
        self._release()
        return risky

    def end(self) -> None:
        """The result is there: `tell` ends once it has told what had come before."""
        self._over = True
        self._release()
        self._items.put_nowait(None)

    async def tell(self, listener: Listener) -> None:
        while (item := await self._items.get()) is not None:
            if isinstance(item, _Asked):
                await self._put(item, listener)
            else:
                await listener.happened(item)

    async def _put(self, asked: _Asked, listener: Listener) -> None:
        """Asks the listener, for as long as the question is open."""
        if asked.answer.done():
            return
        asking = asyncio.create_task(listener.asked(asked.question))
        try:
            await asyncio.wait({asking, asked.answer}, return_when=asyncio.FIRST_COMPLETED)
            if not asked.answer.done():
                asked.answer.set_result(asking.result())
        finally:
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            if not asked.answer.done():
                asked.answer.set_result(None)

    def _release(self) -> None:
        for answer in self._pending:
            if not answer.done():
                answer.set_result(None)

    def _say(self, content: "Content", kind: type[Text] | type[Thought]) -> None:
        if content.type != "text" or not content.text:
            return
        self._heard = True
        if kind is Text:
            self._final.append(content.text[: self._room])
            self._room -= len(self._final[-1])
        self._items.put_nowait(kind(content.text))

    def _tool(self, update: "ToolCallStart | ToolCallProgress") -> None:
        """A call that was never announced, only updated, counts as begun by its first update."""
        self._heard = True
        call = update.tool_call_id
        if call not in self._tools:
            name = name_of(update)
            self._tools[call] = False
            self._final.clear()
            self._room = MOST_CHARS
            self._items.put_nowait(ToolBegun(call, name, reading=reads_only(name, update.kind)))
        if update.status in ("completed", "failed") and not self._tools[call]:
            self._tools[call] = True
            self._items.put_nowait(ToolEnded(call, ok=update.status == "completed"))
