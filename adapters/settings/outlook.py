"""What holds of the operator's file, given what was accepted of it before."""

from collections.abc import Collection
from dataclasses import dataclass

from adapters.settings.guarded import Guarded, guarded, restricted, widening
from adapters.settings.model import Settings
from policy.decide import Rules
from policy.stricter import Stricter

WAITS = "what tieline.toml adds to it waits for an operator's word"


@dataclass(frozen=True, slots=True)
class Outlook:
    """`settings` and `policy` hold now. `wanted` is the file's copy of what is guarded. `waiting` are the lines of what
    an operator must accept first; `unasked` those of what holds though nobody was asked, for there is nobody to ask."""

    settings: Settings
    policy: Rules | Stricter
    wanted: Guarded
    waiting: tuple[str, ...] = ()
    unasked: tuple[str, ...] = ()


def outlook(file: Settings, accepted: Guarded | None, *, ask: bool, granted: Collection[str] = ()) -> Outlook:
    """`ask` tells whether there are operators, as accepted, and `granted` by which selectors the grants that hold name
    sessions. Without `accepted`, this is the first start."""
    wanted = guarded(file) if accepted is None else guarded(file).remembering(accepted)
    wider = tuple(widening(accepted, wanted, granted)) if accepted is not None else ()
    if accepted is None or not wider or not ask:
        return Outlook(file, Rules(file.rules), wanted, unasked=wider)
    both = Stricter(Rules(accepted.rules), Rules(file.rules), because=WAITS)
    return Outlook(restricted(file, accepted), both, wanted, waiting=wider)
