"""Wake-ups within one process."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bridge.ids import MessageId, SessionId


class Hints:
    """Implements `bridge.ports.wake.Wake`. Whoever waits watches first and looks at the store then, so that
    nothing slips through between the two."""

    def __init__(self) -> None:
        self._watchers: dict[object, dict[asyncio.Event, None]] = defaultdict(dict)
        self._lane: Callable[[SessionId], None] = lambda session: None
        self._at: Callable[[float], None] = lambda time: None
        self._retired: Callable[[SessionId], None] = lambda session: None
        self._revoked: Callable[[str], None] = lambda digest: None

    def attach(
        self,
        lane: Callable[[SessionId], None],
        at: Callable[[float], None],
        retired: Callable[[SessionId], None],
        revoked: Callable[[str], None],
    ) -> None:
        """Names the dispatcher, the timekeeper, who ends what closed children run, and who knows tokens."""
        self._lane = lane
        self._at = at
        self._retired = retired
        self._revoked = revoked

    def lane(self, session: SessionId) -> None:
        self._lane(session)

    def at(self, time: float) -> None:
        self._at(time)

    def retired(self, session: SessionId) -> None:
        self._retired(session)

    def revoked(self, digest: str) -> None:
        self._revoked(digest)

    def mail(self, session: SessionId) -> None:
        self._set(("mail", session))

    def closed(self, request: MessageId) -> None:
        self._set(("closed", request))

    def outbox(self) -> None:
        self._set("outbox")

    def sessions(self) -> None:
        self._set("sessions")

    @contextmanager
    def watch_sessions(self) -> Iterator[asyncio.Event]:
        with self._watch("sessions") as event:
            yield event

    @contextmanager
    def watch_mail(self, session: SessionId) -> Iterator[asyncio.Event]:
        with self._watch(("mail", session)) as event:
            yield event

    @contextmanager
    def watch_closed(self, request: MessageId) -> Iterator[asyncio.Event]:
        with self._watch(("closed", request)) as event:
            yield event

    @contextmanager
    def watch_outbox(self) -> Iterator[asyncio.Event]:
        with self._watch("outbox") as event:
            yield event

    @contextmanager
    def _watch(self, topic: object) -> Iterator[asyncio.Event]:
        event = asyncio.Event()
        self._watchers[topic][event] = None
        try:
            yield event
        finally:
            self._watchers[topic].pop(event, None)
            if not self._watchers[topic]:
                del self._watchers[topic]

    def _set(self, topic: object) -> None:
        for event in self._watchers.get(topic, ()):
            event.set()
