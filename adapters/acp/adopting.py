"""What an agent is started through on Linux. All that it and its commands ever start can be told from then on, however
it detaches itself (DESIGN §7).

The agent becomes the parent of whatever its children leave behind: what its commands start stays below it. A process
keeps this over `exec`, but does not hand it down. And it is marked by a limit that everything it starts inherits, and
that only root can raise again (`descent` reads it).
"""

import ctypes
import os
import resource
import sys

_PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>


def _mark() -> None:
    """Takes a byte or two from what its message queues may hold at most: the next lower odd number."""
    wanted, most = resource.getrlimit(resource.RLIMIT_MSGQUEUE)
    if most == resource.RLIM_INFINITY:
        most = 2**62
    odd = most - 1 - most % 2
    if odd > 0:
        resource.setrlimit(resource.RLIMIT_MSGQUEUE, (odd if wanted < 0 else min(wanted, odd), odd))


ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
_mark()
try:
    os.execvp(sys.argv[1], sys.argv[1:])
except OSError as error:
    print(f"{sys.argv[1]} cannot be run: {error.strerror}", file=sys.stderr)
    sys.exit(126)
