"""What a process of an agent's tries with the shell's commands: `attempts.py NAME FOLDER MESSAGE GRANT GATE…`.

Once at the beginning and once after each gate, a file, has been made. MESSAGE waits for a person's approval, and GRANT
forbids something. It writes its pid to `FOLDER/NAME.pid`, and to `FOLDER/NAME.0`, `.1` and so on the exit code and the
output of each command.
"""

import contextlib
import io
import json
import os
import signal
import sys
import time
from pathlib import Path

from adapters.cli.main import main


def tried(*arguments: str) -> tuple[int, str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        code = main([*arguments, "--json"])
    return code, out.getvalue()


def attempt(name: str, number: int, message: str, grant: str) -> dict[str, tuple[int, str]]:
    # Of a request its sender awaits the answer, and an agent its turn's.
    send = ("send", "desk", f"{name} {number}", "--intent", "inform")
    return {
        "send": tried(*send),
        "send as the shell": tried(*send, "--from", "shell"),
        "send as another": tried(*send, "--from", "counsel"),
        "new": tried("session", "new", f"made-{os.getpid()}-{number}", "--agent", "career"),
        "stop": tried("session", "stop", "counsel"),
        "resume": tried("session", "resume", "counsel"),
        "approve": tried("approvals", "approve", message, "--scope", "pair"),
        "deny": tried("approvals", "deny", message),
        "allow": tried("policy", "allow", "career", "vault"),
        "revoke": tried("policy", "revoke", grant),
        "pause": tried("policy", "pause"),
        "go on": tried("policy", "resume"),
    }


def written(path: Path, text: str) -> None:
    path.with_name(f"{path.name}.part").write_text(text)
    path.with_name(f"{path.name}.part").rename(path)


if __name__ == "__main__":
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    name, folder, message, grant, *gates = sys.argv[1:]
    written(Path(folder, f"{name}.pid"), str(os.getpid()))
    for number, gate in enumerate(["", *gates]):
        while gate and not os.path.exists(gate):
            time.sleep(0.05)
        written(Path(folder, f"{name}.{number}"), json.dumps(attempt(name, number, message, grant)))
