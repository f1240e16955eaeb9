"""The scripted agent with a shell of its own, for tests only: a peer's text may be a script.

| directive | what it does |
| --- | --- |
| `run COMMAND` | runs a command in a shell, as a tool of the agent's; its exit code becomes `$last` |
| `flood MEGABYTES CHARS` | writes so much to stderr, in lines of so many characters |
"""

import os
import subprocess

from adapters.scripted.__main__ import main
from adapters.scripted.turn import Turn


class _WithShell(Turn):
    def do_run(self, command: str) -> None:
        null = subprocess.DEVNULL
        self.values["last"] = subprocess.run(
            ["/bin/sh", "-c", command], stdin=null, stdout=null, stderr=null, check=False
        ).returncode

    def do_flood(self, text: str) -> None:
        megabytes, chars = map(int, text.split())
        data = (b"x" * (chars - 1) + b"\n") * (2**20 // chars + 1)
        for _ in range(megabytes):
            written = memoryview(data)[: 2**20]
            while written:
                written = written[os.write(2, written) :]


if __name__ == "__main__":
    for name in ("do_run", "do_flood"):
        setattr(Turn, name, getattr(_WithShell, name))  # the agent makes its turns itself
    main()
