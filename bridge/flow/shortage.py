"""Shortage: people hear that the store has no room, and that it has some again."""

from bridge import wording
from bridge.errors import Code, Refused
from bridge.flow.ledger import Ledger
from bridge.flow.showing import show
from bridge.flow.work import Work
from bridge.post import PostKind

_LOOK_S = 15.0


class Shortage:
    """One task. The operators are told where chats report to, once each time, in one post that is revised."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._since: float | None = None

    async def run(self) -> None:
        while True:
            try:
                short = await self._ledger.store.short()
                if short != (self._since is not None):
                    await self._tell(short)
            except Refused as refused:
                if refused.code is not Code.UNAVAILABLE:
                    raise
                # Not even that can be stored: they are told at a later look.
            await self._ledger.clock.sleep(_LOOK_S)

    async def _tell(self, short: bool) -> None:
        since = self._since or self._ledger.clock.now()
        text = wording.SHORT_OF_ROOM if short else wording.ROOM_AGAIN

        async def body(work: Work) -> None:
            for where in (where for chat in self._ledger.chats.values() for where in chat.reports()):
                await show(work, f"short:{since}:{where}", where, PostKind.NOTICE, text)

        await self._ledger.do(body)
        self._since = since if short else None
