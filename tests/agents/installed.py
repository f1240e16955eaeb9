"""Where the real agents are: `python -m tests.agents.installed` puts them there, in the versions of `agents.lock`."""

import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent / "build" / "agents"
HERMES = ROOT / "hermes" / "bin"
"""Hermes has an environment of its own: it pins an older `agent-client-protocol`."""
NPM = ROOT / "npm" / "node_modules" / ".bin"


def locked(registry: str) -> list[str]:
    lines = (HERE / "agents.lock").read_text().splitlines()
    return [name for line in lines if line.startswith(f"{registry} ") for name in line.split()[1:]]


def path() -> str:
    """A PATH on which the installed agents come first."""
    return os.pathsep.join([str(HERMES), str(NPM), os.environ.get("PATH", os.defpath)])


def install() -> None:
    """Does nothing where the versions of the lock are there already."""
    ROOT.mkdir(parents=True, exist_ok=True)
    stamp = ROOT / "installed"
    wanted = (HERE / "agents.lock").read_text()
    if stamp.exists() and stamp.read_text() == wanted:
        return
    if not (HERMES / "python").exists():
        venv.create(ROOT / "hermes", with_pip=True)
    _run([str(HERMES / "python"), "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *locked("pypi")])
    _run(["npm", "install", "--prefix", str(ROOT / "npm"), "--no-audit", "--no-fund", "--silent", *locked("npm")])
    stamp.write_text(wanted)


def _run(command: Sequence[str]) -> None:
    print(" ".join(command), file=sys.stderr, flush=True)
    subprocess.run(command, check=True)


if __name__ == "__main__":
    install()
