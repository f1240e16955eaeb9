"""The scripted agent with a shell of its own, for tests only: a peer's text may be a script.

| directive | what it does |
| --- | --- |
| `run COMMAND` | runs a command in a shell, as a tool of the agent's; its exit code becomes `$last` |
"""

import subprocess

from adapters.scripted.__main__ import main
from adapters.scripted.turn import Turn


class _WithShell(Turn):
    def do_run(self, command: str) -> None:
        null = subprocess.DEVNULL
        self.values["last"] = subprocess.run(
            ["/bin/sh", "-c", command], stdin=null, stdout=null, stderr=null, check=False
        ).returncode


if __name__ == "__main__":
    setattr(Turn, "do_run", _WithShell.do_run)  # noqa: B010 - the agent makes its turns itself
    main()
