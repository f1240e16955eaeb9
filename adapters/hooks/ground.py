"""Where hooks are installed: the home of a person, the agents' own commands, and what was there before."""

import json
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

_COMMAND_S = 120


class ByHand(Exception):
    """It cannot be changed safely. `what` is what a person would add; nothing has been changed."""

    def __init__(self, path: Path, reason: str, what: str) -> None:
        super().__init__(f"{path} cannot be changed safely ({reason})")
        self.what = what


class NoAgent(Exception):
    """The agent's command is not there, or failed."""


class Ground:
    """`tieline` are the words of the command that the agents run."""

    def __init__(self, environ: Mapping[str, str], tieline: Sequence[str]) -> None:
        self.environ = environ
        self.home = Path(environ.get("HOME") or os.path.expanduser("~"))
        own = environ.get("TIELINE_HOME")
        self.own = Path(own or self.home / ".tieline").expanduser().absolute()
        self.variables = {"TIELINE_HOME": str(self.own)} if own else {}
        self.tieline = list(tieline)
        self.changed: list[str] = []
        self.ran: list[list[str]] = []

    def folder(self, variable: str, *default: str) -> Path:
        """An agent's own folder, which a variable may name."""
        named = self.environ.get(variable)
        return Path(named) if named else self.home.joinpath(*default)

    def hook(self, event: str, agent: str) -> str:
        """The command line of a hook, as a shell reads it."""
        variables = [f"{name}={value}" for name, value in self.variables.items()]
        words = ["env", *variables] if variables else []
        return shlex.join([*words, *self.tieline, "hook", event, "--agent", agent])

    def run(self, *command: str) -> None:
        """Runs an agent's own command. Raises `NoAgent`."""
        found = shutil.which(command[0], path=self.environ.get("PATH", os.defpath))
        if found is None:
            raise NoAgent(f"{command[0]} is not on your PATH: install it first")
        self.ran.append(list(command))
        try:
            done = subprocess.run(
                [found, *command[1:]],
                env=dict(self.environ),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_COMMAND_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise NoAgent(f"{command[0]} could not be run: {error}") from None
        if done.returncode != 0:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()
            raise NoAgent(f"`{shlex.join(command)}` failed: {said[-1] if said else done.returncode}")

    def write(self, path: Path, text: str) -> None:
        """As a whole, or not at all. A file that is a link stays one."""
        if read(path) == text:
            return
        path = path.resolve()
        path.parent.mkdir(parents=True, exist_ok=True)
        mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
            os.chmod(name, mode)
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        self.changed.append(str(path))

    def remove(self, path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
            self.changed.append(str(path))
        elif path.exists() or path.is_symlink():
            path.unlink()
            self.changed.append(str(path))

    # What was there before

    def keep(self, agent: str, *paths: Path) -> None:
        """Remembers what the files were before anything was installed, once."""
        record = self._record(agent)
        known: dict[str, str | None] = json.loads(read(record) or "{}")
        for path in paths:
            known.setdefault(str(path), read(path))
        if read(record) is None or json.loads(read(record) or "{}") != known:
            record.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            record.touch(mode=0o600)
            record.write_text(json.dumps(known), encoding="utf-8")

    def restore(self, agent: str, meaning: Callable[[str], Any]) -> None:
        """Where a file says nothing else by now than it did before, it is what it was, to the byte."""
        record = self._record(agent)
        for name, before in json.loads(read(record) or "{}").items():
            path, now = Path(name), read(Path(name))
            if now is None or now == before:
                continue
            try:
                same = meaning(now) == meaning(before or "")
            except ValueError:
                continue
            if same and before is None:
                self.remove(path)
            elif same and before is not None:
                self.write(path, before)
        record.unlink(missing_ok=True)
        for folder in (record.parent, record.parent.parent):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

    def _record(self, agent: str) -> Path:
        return self.own / "hooks" / agent / "before.json"


def read(path: Path) -> str | None:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
