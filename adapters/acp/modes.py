"""The modes of an agent: which it offers, in which it is, and to which it goes back."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from adapters.acp.failures import failure
from bridge.turn import Failure, FailureKind

if TYPE_CHECKING:
    from acp.schema import SessionModeState


class Modes:
    """While it is `away` in a mode that one prompt asked for, what the agent tells of its mode does not change where it
    goes back to."""

    def __init__(self) -> None:
        self._offered: Sequence[str] = ()
        self._own: str | None = None
        self.away = False

    def offer(self, state: "SessionModeState | None") -> None:
        """What the agent said as its context was opened."""
        self._offered = [one.id for one in state.available_modes] if state is not None else []
        self._own = state.current_mode_id if state is not None else None

    def entered(self, mode: str) -> None:
        if not self.away:
            self._own = mode

    def target(self, wanted: str | None) -> str | Failure | None:
        """The mode that has to be set before a prompt; None where the agent is in its own already."""
        if wanted is None:
            return self._own if self.away else None
        if wanted in self._offered:
            return wanted
        offers = f"it offers {', '.join(self._offered)}" if self._offered else "it offers none"
        return cannot_be_set(wanted, offers)


def cannot_be_set(mode: str, why: object) -> Failure:
    detail = f"The agent cannot be set to the mode {mode!r} in which this turn has to run (peer_mode): {why}."
    return failure(FailureKind.CONFIG, detail)
