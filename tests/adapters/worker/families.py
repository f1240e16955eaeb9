"""Processes, each the parent of the next."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from adapters.process import ancestors, birth_of
from adapters.worker.proof import HOPS, Hello
from bridge.turn import Process

ROOT = Path(__file__).parents[3]

_CODE = """
import os, subprocess, sys
left = int(sys.argv[1])
print(os.getpid(), flush=True)
child = subprocess.Popen([sys.executable, "-c", sys.argv[2], str(left - 1), sys.argv[2]]) if left else None
sys.stdin.read()
if child:
    child.wait()
"""


@contextmanager
def family(below: int) -> Iterator[list[Process]]:
    """A process and so many below it, one under the other. They end when the input of them all does."""
    command = [sys.executable, "-c", _CODE, str(below), _CODE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin
        assert process.stdout
        pids = [int(process.stdout.readline()) for _ in range(below + 1)]
        try:
            yield [Process(pid, birth_of(pid) or "") for pid in pids]
        finally:
            process.stdin.close()
            process.wait(timeout=20)


def hello_of(process: Process) -> Hello:
    """As the process itself would say it."""
    return Hello(process.pid, process.birth, tuple(one.pid for one in ancestors(process.pid, HOPS)[1:]))
