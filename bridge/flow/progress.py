"""The one message that shows what a running turn is doing, revised while it runs, and what is left of it then."""

from dataclasses import replace

from bridge.activity import Activity, Tool, ended, folded, traced
from bridge.errors import Code, Refused
from bridge.flow.kin import shown_at
from bridge.flow.ledger import Ledger
from bridge.flow.showing import reshow, revise, show
from bridge.flow.work import Work
from bridge.ids import Place, TurnId
from bridge.ports.runtime import Event, Text
from bridge.post import Button, PostKind, PostState
from bridge.turn import Turn, TurnState

GLIMPSE_S = 4.5
"""Between two signs of life: a chat shows each for 5 s."""
_GROWING_S = 1.5
"""The same where the chat shows the text as it grows."""

_SILENT_ROUNDS = 5

_WORDS = {TurnState.COMPLETED: "Done", TurnState.CANCELLED: "Stopped", TurnState.FAILED: "Failed"}


class Progress:
    """A sign of life is there at once. The message appears once a turn has lasted `progress_every_s`; later revisions
    come at that pace at most, and at least every fifth time even if nothing has happened, so that a long wait shows
    that it lives."""

    def __init__(self, ledger: Ledger, turn: Turn) -> None:
        self._ledger = ledger
        self._turn = turn
        self._activity = Activity()
        self._streams = False
        self._changed = True
        self._quiet = 0

    def note(self, event: Event) -> None:
        new = self._activity.note(event)
        # What grows before the reader's eyes need not be repeated in the message.
        self._changed = self._changed or (new and not (self._streams and isinstance(event, Text)))

    async def run(self) -> None:
        """Until it is cancelled."""
        place = await self._ledger.surely(self._begin)
        chat = self._ledger.chat_of(place)
        if place is None or chat is None:
            return
        to_glimpse, to_revision = 0.0, self._ledger.limits.progress_every_s
        while True:
            if to_glimpse <= 0:
                self._streams = await chat.glimpse(place, self._turn.id, self._activity.said)
                to_glimpse = _GROWING_S if self._streams else GLIMPSE_S
            if to_revision <= 0:
                await self._revise(place)
                to_revision = self._ledger.limits.progress_every_s
            pause_s = min(to_glimpse, to_revision)
            await self._ledger.clock.sleep(pause_s)
            to_glimpse, to_revision = to_glimpse - pause_s, to_revision - pause_s

    async def _begin(self, work: Work) -> Place | None:
        if self._turn.epoch > 1:
            # A bridge before this one has shown it until now.
            self._activity.recall(traced(await work.store.steps(self._turn.inputs[0]), self._turn.started_at))
        return await shown_at(work, self._turn)

    async def _revise(self, place: Place) -> None:
        self._quiet = 0 if self._changed else self._quiet + 1
        if self._changed or self._quiet >= _SILENT_ROUNDS:
            self._changed, self._quiet = False, 0
            await self._ledger.surely(lambda work: self._show(work, place))

    async def _show(self, work: Work, place: Place) -> None:
        turn = await work.held(self._turn.id, self._turn.epoch)
        if turn is None:
            return
        text = self._activity.shown(work.now - turn.started_at, with_text=not self._streams)
        stop = Button("Stop", f"stop:{turn.id}")
        await show(
            work, key_of(turn.id), place, PostKind.PROGRESS, text, buttons=(stop,), session=turn.session, rich=True
        )


def key_of(turn: TurnId) -> str:
    return f"progress:{turn}"


async def conclude(work: Work, turn: Turn, interrupted: str | None = None) -> None:
    """A turn is over: one line is left of what was shown of it, and nothing where nothing had been shown yet."""
    post = await work.post(key_of(turn.id))
    if post is None:
        return
    tools = len(await _tools(work, turn))
    line = f"Interrupted: {interrupted}" if interrupted else _ended(turn, tools)
    if post.receipt is not None:
        await revise(work, post.key, line, buttons=_unfolding(turn, tools, folded=True))
    else:
        # If it is on its way all the same, it becomes that line once it has arrived.
        over = "the turn was over before it could be shown"
        work.put(replace(post, text=line, markup=None, buttons=(), state=PostState.FAILED, error=over))


async def unfold(work: Work, ident: TurnId, place: Place, *, folded_again: bool) -> str:
    """Shows the tools of a turn that is over, or folds them again. Returns what to tell the person who asked."""
    turn, post = await work.turn(ident), await work.post(key_of(ident))
    if turn is None or post is None or post.place != place or turn.live:
        raise Refused(Code.INVALID_REQUEST, "this is not kept any more")
    tools = await _tools(work, turn)
    line, buttons = _ended(turn, len(tools)), _unfolding(turn, len(tools), folded=folded_again)
    if folded_again:
        await revise(work, post.key, line, buttons=buttons)
        return "Folded."
    await reshow(work, post.key, "\n".join([line, *folded(tools, len(tools))]), buttons=buttons)
    return "Unfolded."


async def _tools(work: Work, turn: Turn) -> list[Tool]:
    return traced(await work.store.steps(turn.inputs[0]), turn.started_at)


def _ended(turn: Turn, tools: int) -> str:
    return ended(_WORDS.get(turn.state, "Interrupted"), (turn.ended_at or turn.started_at) - turn.started_at, tools)


def _unfolding(turn: Turn, tools: int, *, folded: bool) -> tuple[Button, ...]:
    if not tools:
        return ()
    return (Button("Show tools", f"tools:{turn.id}") if folded else Button("Fold", f"fold:{turn.id}"),)
