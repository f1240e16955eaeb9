"""The updates that wait for the bot, and how they are polled and acknowledged."""

import asyncio
from collections.abc import Sequence

from tests.fakes.bot_api.contract import checked_update
from tests.fakes.bot_api.world import ApiError, Json, World

_BY_POLL = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"
_BY_WEBHOOK = "Conflict: terminated by setWebhook request"
_ONLY_WHEN_NAMED = frozenset({"chat_member", "message_reaction", "message_reaction_count"})


class Updates:
    """Keeps every update until an offset beyond it acknowledges it, whichever client asks.

    `allowed` is the last `allowed_updates` that was given, `acknowledged` the highest number ever acknowledged.
    """

    def __init__(self, world: World) -> None:
        self._world = world
        self._poll: object | None = None
        self._ended = _BY_POLL
        self._next = 500
        self.pending: list[Json] = []
        self.allowed: Sequence[str] | None = None
        self.acknowledged = 0

    def add(self, kind: str, content: Json) -> int | None:
        """Its number; None where the bot did not ask for that kind, so that it never gets it."""
        update = {"update_id": self._next, kind: content}
        checked_update(update)
        if kind not in self.allowed if self.allowed else kind in _ONLY_WHEN_NAMED:
            return None
        return self.add_raw(update)

    def add_raw(self, update: Json) -> int:
        """Adds it as it is; without an `update_id` it gets the next one."""
        update = {"update_id": self._next, **update}
        self._next = max(self._next, int(update["update_id"])) + 1
        self.pending.append(update)
        self._world.pulse()
        return int(update["update_id"])

    def drop(self) -> None:
        self.pending.clear()

    def acknowledge(self, number: int) -> None:
        """That update, and all before it."""
        self.acknowledged = max(self.acknowledged, number)
        self.pending = [update for update in self.pending if update["update_id"] > number]
        self._world.pulse()

    async def poll(
        self, offset: int | None, limit: int | None, wait_s: float, allowed: Sequence[str] | None
    ) -> list[Json]:
        """One `getUpdates`. It ends an earlier one that still waits, which is then answered with 409."""
        if offset is not None:
            self.acknowledge(offset - 1)
        if allowed is not None:
            self.allowed = allowed
        self._poll = this = object()
        self._ended = _BY_POLL
        self._world.pulse()
        try:
            async with asyncio.timeout(wait_s):
                while not self.pending:
                    await self._world.change()
                    if self._poll is not this:
                        raise ApiError(409, self._ended)
        except TimeoutError:
            return []
        finally:
            if self._poll is this:
                self._poll = None
        return self.pending[: limit or 100]

    def end_poll(self) -> None:
        """A webhook is set: a poll that waits is answered at once."""
        self._poll, self._ended = None, _BY_WEBHOOK
        self._world.pulse()

    @property
    def polling(self) -> bool:
        """Whether a poll waits right now."""
        return self._poll is not None
