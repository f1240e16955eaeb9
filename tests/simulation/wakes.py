"""Wake-ups that get lost, and that come twice."""

import random

from bridge.ids import MessageId, SessionId
from bridge.ports.wake import Wake
from tests.simulation.scenario import Misfortune
from tests.simulation.world import World


class UnsureWake:
    """`bridge.ports.wake.Wake` before the real one."""

    def __init__(self, wake: Wake, world: World, chance: random.Random) -> None:
        self._wake = wake
        self._world = world
        self._chance = chance

    def lane(self, session: SessionId) -> None:
        for _ in range(self._times()):
            self._wake.lane(session)

    def mail(self, session: SessionId) -> None:
        for _ in range(self._times()):
            self._wake.mail(session)

    def closed(self, request: MessageId) -> None:
        for _ in range(self._times()):
            self._wake.closed(request)

    def retired(self, session: SessionId) -> None:
        for _ in range(self._times()):
            self._wake.retired(session)

    def revoked(self, digest: str) -> None:
        self._wake.revoked(digest)

    def sessions(self) -> None:
        for _ in range(self._times()):
            self._wake.sessions()

    def outbox(self) -> None:
        for _ in range(self._times()):
            self._wake.outbox()

    def at(self, time: float) -> None:
        for _ in range(self._times()):
            self._wake.at(time)

    def _times(self) -> int:
        draw = self._chance.random()
        if self._world.suffers(Misfortune.LOST_WAKES) and draw < 0.1:
            return 0
        return 2 if self._world.suffers(Misfortune.REPEATED_WAKES) and draw > 0.8 else 1
