"""Retention: what has been over for long enough is removed, a little at a time."""

from bridge.errors import Code, Refused
from bridge.flow.ledger import Ledger
from bridge.ports.files import Files

_BATCH = 100
_FIRST_S = 600.0
"""A machine may begin with a wrong clock and set it right after a while; what was removed by then would be gone."""
_EVERY_S = 3_600.0
_REST = 9
_REST_S = (0.05, 5.0)
_KEYS_S = 30 * 86_400
"""For so long at least a sender may come back with its key, however short the retention is."""


class Retention:
    """One task. It rests nine times as long as each batch took, so that the store is others' for nine tenths of
    the time, and begins anew an hour after it has looked at everything."""

    def __init__(self, ledger: Ledger, files: Files | None = None) -> None:
        self._ledger = ledger
        self._files = files

    async def run(self) -> None:
        clock = self._ledger.clock
        await clock.sleep(_FIRST_S)
        while True:
            began = clock.now()
            more = await self._remove(began)
            if not more:
                await self._sweep(began)
            shortest, longest = _REST_S
            rest_s = min(longest, max(shortest, _REST * (clock.now() - began)))
            await clock.sleep(rest_s if more else _EVERY_S)

    async def _remove(self, now: float) -> bool:
        kept_s = self._ledger.limits.retention_s
        try:
            _, more = await self._ledger.store.remove(now - kept_s, now - kept_s - max(kept_s, _KEYS_S), _BATCH)
        except Refused as refused:
            if refused.code is not Code.UNAVAILABLE:
                raise
            return False  # Nothing is the worse for an hour's delay.
        return more

    async def _sweep(self, now: float) -> None:
        """Files go once no message names them, and those of a message that never came to be."""
        if self._files is None:
            return
        try:
            needed = await self._ledger.store.attached()
        except Refused as refused:
            if refused.code is not Code.UNAVAILABLE:
                raise
        else:
            await self._files.sweep(now - self._ledger.limits.retention_s, needed)
