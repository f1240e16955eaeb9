"""Whether a process comes of an agent, also where no living agent is above it (Linux; elsewhere nobody can tell).

While a bridge lives, it is the parent of whatever its agents leave behind. Past its death the mark of `adopting` tells:
a hard limit (RLIMIT_MSGQUEUE) that is odd, as nobody sets it by hand, or lower than the bridge's own. Everything
inherits it, over `setsid`, a double fork, a pty and an empty environment. It can be lowered further, which is seen too,
but only root can raise it. A terminal whose limit was lowered otherwise is taken for an agent's: a person is refused
then, and nobody is admitted.

Within one uid this is a fence and no wall. An agent can still have others start processes for it, which are not its own
(cron, `systemd-run`, ssh to the same machine, a person's tmux), trace a person's shell where the system allows it, or
change the bridge's files; as root it can raise the limit. Who must be kept from that needs a user of its own.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

_LINE = "Max msgqueue size"
_UNLIMITED = 2**64


def orphaned(pids: Sequence[int], adopter: int | None = None) -> bool:
    """`pids` are a process and its ancestors, among whom no agent is known. Whatever is below `adopter` was left
    behind by an agent."""
    return sys.platform == "linux" and (adopter in pids[1:] or marked(_limit(pids[0]), _limit("self")))


def marked(limit: int | None, own: int | None) -> bool:
    """Whether a process with this limit bears the mark; `own` is the bridge's. A process that has ended meanwhile has
    none, and could have been any."""
    if own is None:
        return False  # This kernel tells no limits.
    return limit is None or limit % 2 == 1 or limit < own


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
