"""Processes, each the parent of the next."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from adapters.process import ancestors, birth_of
from adapters.worker.codec import as_json
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


_FORGER = """
import json, socket, sys
listener = socket.socket(socket.AF_UNIX)
listener.bind(sys.argv[1])
listener.listen()
print("listening", flush=True)
connection, _ = listener.accept()
connection.sendall(sys.argv[2].encode() + b"\\n")
print(connection.recv(100) or "nothing", flush=True)
"""


@contextmanager
def forger(address: Path, hello: Hello) -> Iterator[IO[str]]:
    """A process that listens there and says that hello to whoever comes; then it prints what it heard."""
    told = json.dumps({"hello": as_json(hello)})
    command = [sys.executable, "-c", _FORGER, str(address), told]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline()
        try:
            yield process.stdout
        finally:
            process.kill()


def hello_of(process: Process) -> Hello:
    """As the process itself would say it."""
    return Hello(process.pid, process.birth, tuple(one.pid for one in ancestors(process.pid, HOPS)[1:]))
