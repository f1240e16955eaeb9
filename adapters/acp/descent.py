"""Whether a process comes of an agent, also where no living agent is above it (Linux; elsewhere nobody can tell).

While a bridge lives, it is the parent of whatever its agents leave behind. Past its death the mark of `adopting` tells:
a hard limit (RLIMIT_MSGQUEUE) that is odd, as nobody sets it by hand, or lower than the bridge's own. Everything
inherits it, over `setsid`, a double fork, a pty and an empty environment. It can be lowered further, which is seen too,
but only root can raise it. A terminal whose limit was lowered otherwise is taken for an agent's: a person is refused
then, and nobody is admitted. A bridge that an agent has started bears the mark itself, and so does all around it.

Within one uid this is a fence and no wall. An agent can still have others start processes for it, which are not its own
(cron, `systemd-run`, ssh to the same machine, a person's tmux), trace a person's shell where the system allows it,
start the bridge again below an even limit of its own, or change the bridge's files; as root it can raise the limit. Who
must be kept from that needs a user of its own.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from bridge.caller import Descent

_LINE = "Max msgqueue size"
_UNLIMITED = 2**64


def descent_of(pids: Sequence[int], adopter: int | None = None) -> Descent:
    """`pids` are a process and its ancestors, among whom no agent is known. Whatever is below `adopter` was left
    behind by an agent. Blocks for a moment."""
    if sys.platform != "linux":
        return Descent.FREE
    return Descent.LEFT if adopter in pids[1:] else told_by(_limit(pids[0]), _limit("self"))


def of_an_agent() -> bool:
    """Whether this process itself bears the mark."""
    own = _limit("self") if sys.platform == "linux" else None
    return own is not None and own % 2 == 1


def told_by(limit: int | None, own: int | None) -> Descent:
    """What the limit of a process tells beside the bridge's own. A process that has ended meanwhile has none, and
    could have been any."""
    if own is None:
        return Descent.FREE  # This kernel tells no limits.
    if limit is None or limit < own:
        return Descent.LEFT
    if limit % 2 == 0:
        return Descent.FREE
    return Descent.FOREIGN if own % 2 else Descent.LEFT


def _limit(pid: int | str) -> int | None:
    try:
        limits = Path(f"/proc/{pid}/limits").read_text(encoding="ascii")
    except OSError:
        return None
    for line in limits.splitlines():
        if line.startswith(_LINE):
            hard = line.removeprefix(_LINE).split()[1]
            return _UNLIMITED if hard == "unlimited" else int(hard)
    return None
