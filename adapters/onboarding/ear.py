"""Hears what is done in Telegram, without losing a thing between two steps."""

import json
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

from adapters.onboarding.hearing import GROUPS, OWN, Event, Moved, Room, Said, Seated, Somebody, read
from adapters.telegram.asking import Asking, Unanswered, Why
from bridge.ports.clock import Clock

_T = TypeVar("_T")
Update = tuple[int, str]
_WAIT_S = 25
_PAUSE_S = 2
_CONFLICT_S = 30
_ALLOWED = json.dumps(["message", "my_chat_member"])


class Ear:
    """`trouble` is told what keeps Telegram away, once, and "" when it is heard again. `left` is given, before they are
    acknowledged, the numbers and texts of updates that were no answers here: they are for the bridge."""

    def __init__(
        self,
        asking: Asking,
        clock: Clock,
        username: str,
        trouble: Callable[[str], None],
        left: Callable[[Sequence[Update]], None],
    ) -> None:
        self._asking = asking
        self._clock = clock
        self._username = username
        self._trouble = trouble
        self._left = left
        self._passed: list[Update] = []
        self._heard: deque[tuple[Event, Update]] = deque()
        self._offset: int | None = None
        self._away = ""
        self._conflict_at: float | None = None
        self._seats: dict[int, tuple[Somebody, Room]] = {}

    def seats_by(self, person: Somebody) -> list[Room]:
        """The groups in which that person has seated the bot, as far as this was heard; the newest last."""
        return [room for who, room in self._seats.values() if who.id == person.id]

    async def until(self, pick: Callable[[Event], _T | None]) -> _T:
        """What `pick` makes of an event, once that is not None. What it passes over is heard no more here.

        Raises `Unanswered` where somebody else takes the updates, or the token is refused; else it tries again."""
        while True:
            while self._heard:
                event, update = self._heard.popleft()
                if (found := pick(event)) is not None:
                    return found
                self._pass(event, update)
            await self._listen()

    async def acknowledge(self) -> None:
        """What was heard is not told again to who listens next."""
        self._hand_over()
        if self._offset is not None:
            with suppress(Unanswered):
                await self._asking.poll(offset=self._offset, timeout=0, limit=1)

    async def _listen(self) -> None:
        self._hand_over()
        after = {"offset": self._offset} if self._offset is not None else {}
        try:
            updates = await self._asking.poll(timeout=_WAIT_S, allowed_updates=_ALLOWED, **after)
        except Unanswered as error:
            await self._failed(error)
            return
        self._tell("")
        for update in updates:
            if not isinstance(update, dict) or not isinstance(update.get("update_id"), int):
                continue
            self._offset = update["update_id"] + 1
            raw = (update["update_id"], json.dumps(update))
            event = read(update, self._username)
            if event is None:
                self._passed.append(raw)
            else:
                self._heard.append((event, raw))
                self._remember(event)

    def _pass(self, event: Event, update: Update) -> None:
        if not (isinstance(event, Said) and event.text.split()[0] in OWN):
            self._passed.append(update)

    def _hand_over(self) -> None:
        if self._passed:
            self._left(self._passed)
            self._passed = []

    def _remember(self, event: Event) -> None:
        match event:
            case Seated(person, room, present) if room.kind in GROUPS:
                self._seats.pop(room.id, None)
                if present:
                    self._seats[room.id] = (person, room)
            case Moved(room, to) if room in self._seats:
                person, known = self._seats.pop(room)
                self._seats[to] = (person, Room(to, "supergroup", known.title))

    async def _failed(self, error: Unanswered) -> None:
        now = self._clock.now()
        match error.why:
            case Why.CONFLICT:
                # One alone may be the end of a poll of our own.
                if self._conflict_at is not None and now - self._conflict_at < _CONFLICT_S:
                    self._conflict_at = None
                    raise error
                self._conflict_at = now
                await self._clock.sleep(1)
            case Why.TOKEN | Why.NO_API:
                raise error
            case _:
                self._tell(error.reason)
                await self._clock.sleep(max(_PAUSE_S, error.after_s))

    def _tell(self, trouble: str) -> None:
        if trouble != self._away:
            self._away = trouble
            self._trouble(trouble)
