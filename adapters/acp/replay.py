"""The history that an agent replays as it loads a context, in digests: nothing of it is kept or shown."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from adapters.acp.tools import name_of, reads
from bridge.history import Called, History, digest
from bridge.redaction import Redaction
from bridge.results import NAME_CHARS

if TYPE_CHECKING:
    from acp.schema import (
        AgentMessageChunk,
        AgentThoughtChunk,
        ToolCallProgress,
        ToolCallStart,
        UserMessageChunk,
    )

    Update = AgentMessageChunk | AgentThoughtChunk | UserMessageChunk | ToolCallStart | ToolCallProgress


class Replay:
    """Chunks of a user's text that follow each other are one prompt, unless their message ids differ."""

    def __init__(self, redaction: Redaction) -> None:
        self._redaction = redaction
        self.heard = False
        self._prompts: list[str] = []
        self._calls: dict[str, Called] = {}
        self._open: list[str] = []
        self._message: str | None = None
        self._news = asyncio.Event()

    @property
    def history(self) -> History:
        self._end_prompt()
        return History(tuple(self._prompts), tuple(self._calls.values()))

    def hear(self, update: "Update") -> None:
        self.heard = True
        self._news.set()
        if update.session_update == "user_message_chunk":
            self._user(update)
        else:
            self._end_prompt()
            if update.session_update in ("tool_call", "tool_call_update"):
                self._call(update)

    def prompted(self, parts: Sequence[str]) -> None:
        """The agent is sent another prompt."""
        self._end_prompt()
        self._prompts.append(digest(parts))
        self._calls.clear()

    async def quiet(self, seconds: float) -> None:
        """Returns once nothing more has come for so long."""
        try:
            while True:
                self._news.clear()
                async with asyncio.timeout(seconds):
                    await self._news.wait()
        except TimeoutError:
            return

    def _user(self, update: "UserMessageChunk") -> None:
        if update.message_id != self._message:
            self._end_prompt()
            self._message = update.message_id
        content = update.content
        shown = content.resource if content.type == "resource" else content
        self._open.append(getattr(shown, "text", ""))

    def _end_prompt(self) -> None:
        if self._open:
            parts, self._open = self._open, []
            self.prompted(parts)

    def _call(self, update: "ToolCallStart | ToolCallProgress") -> None:
        """What a call says of itself later may only make it count for more."""
        name, reading = self._redaction.shown(name_of(update), NAME_CHARS), reads(update)
        earlier = self._calls.get(update.tool_call_id)
        if earlier is None:
            self._calls[update.tool_call_id] = Called(name, reading)
        elif earlier.reading and update.title is not None and not reading:
            self._calls[update.tool_call_id] = Called(name, reading=False)
