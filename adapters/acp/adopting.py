"""What an agent is started through on Linux: it makes the agent the parent of all that its children leave behind.

So whatever a command of the agent starts stays below it, however it detaches itself, and the kernel tells whose it is
(DESIGN §7). A process keeps this over `exec`, but does not hand it down.
"""

import ctypes
import os
import sys

_PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>

ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
try:
    os.execvp(sys.argv[1], sys.argv[1:])
except OSError as error:
    print(f"{sys.argv[1]} cannot be run: {error.strerror}", file=sys.stderr)
    sys.exit(126)
