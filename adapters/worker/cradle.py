"""The process that forks workers. It has imported what they need, so that one is there in a few milliseconds.

It is started with an environment of its own, never sees a setting of the bridge, and ends with it. Whoever asks sends a
byte and one end of a socket pair; the answer is the new worker's pid, or 0 where there can be none now.
"""

import ctypes
import gc
import os
import signal
import socket
import sys
from collections.abc import Callable
from typing import NoReturn

_PR_SET_CHILD_SUBREAPER = 36  # <linux/prctl.h>


def rock(requests: socket.socket, work: Callable[[socket.socket], None]) -> None:
    """Forks a worker for each request, until whoever asks is gone. In the worker `work` is called, with its socket."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for workers: the kernel buries them
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.freeze()
    while True:
        request, files, _, _ = socket.recv_fds(requests, 1, 1)
        for file in files:
            os.set_inheritable(file, False)
        if not request:
            return
        try:
            pid = os.fork() if files else None
        except OSError:
            pid = None  # there is no room for another process now
        if pid == 0:
            requests.close()
            _become(files[0], work)
        for file in files:
            os.close(file)
        requests.sendall(b"%d\n" % (pid or 0))


def _become(file: int, work: Callable[[socket.socket], None]) -> NoReturn:
    """A worker: in a process group and session of its own, and the parent of whatever its agent leaves behind."""
    code = 1
    try:
        os.setsid()
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.chdir("/")
        work(socket.socket(fileno=file))
        code = 0
    finally:
        os._exit(code)
