"""The one message that shows what a running turn is doing, revised while it runs."""

from bridge import wording
from bridge.flow.kin import shown_at
from bridge.flow.ledger import Ledger
from bridge.flow.showing import show
from bridge.flow.work import Work
from bridge.ports.runtime import Event, Text, ToolBegun
from bridge.post import PostKind
from bridge.turn import Turn


class Progress:
    """Appears once a turn has lasted `progress_every_s`; later revisions come at twice that pace at most,
    and at least every fifth time even if nothing has happened, so that a long wait shows that it lives."""

    def __init__(self, ledger: Ledger, turn: Turn) -> None:
        self._ledger = ledger
        self._turn = turn
        self._tool: str | None = None
        self._said = ""
        self._changed = True

    def note(self, event: Event) -> None:
        match event:
            case ToolBegun(name=name):
                self._tool, self._said, self._changed = name, "", True
            case Text(text=text):
                self._said, self._changed = (self._said + text)[-2_000:], True
            case _:
                pass

    async def run(self) -> None:
        quiet = 0
        while True:
            await self._ledger.clock.sleep(self._ledger.limits.progress_every_s)
            quiet = 0 if self._changed else quiet + 1
            if self._changed or quiet >= 5:
                self._changed, quiet = False, 0
                await self._ledger.surely(self._show)

    async def _show(self, work: Work) -> None:
        turn = await work.held(self._turn.id, self._turn.epoch)
        if turn is None:
            return
        place = await shown_at(work, turn)
        lines = [f"working for {work.now - turn.started_at:.0f} s"]
        if self._tool:
            lines.append(f"tool: {wording.short(self._tool, 100)}")
        if self._said.strip():
            lines.append(wording.set_in(self._said, 300))
        await show(work, f"progress:{turn.id}", place, PostKind.PROGRESS, "\n".join(lines), session=turn.session)
