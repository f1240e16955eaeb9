"""The regime: what people have set for all sessions at once."""

from dataclasses import dataclass

from bridge.quick import quick


@quick
@dataclass(frozen=True, slots=True)
class Regime:
    """There is one. Its version rises with every grant too: whatever is admitted is planned on it, so that what people
    grant, revoke or pause holds from the next commit on.

    `paused_by` has stopped all traffic between agents. `accepted` is the last copy of what agents must not widen that
    holds, as JSON; an operator has accepted it, or it was the first.
    """

    id: str = "regime"
    paused_at: float | None = None
    paused_by: str | None = None
    accepted: str | None = None
    version: int = 0

    @property
    def paused(self) -> bool:
        return self.paused_at is not None
