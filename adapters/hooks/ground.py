"""Where hooks are installed: the home of a person, the agents' own commands, and what was there before."""

import errno
import json
import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from adapters.hooks.jsonc import remarks

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
        self._before: dict[Path, str | None] = {}
        self._begun: Path | None = None
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
        """As a whole, or not at all. A file that is a link stays one, and one that nobody may write is left alone."""
        if read(path) == text:
            return
        path = path.resolve()
        if path.exists() and not path.stat().st_mode & 0o222:
            raise PermissionError(errno.EACCES, "it is read-only", str(path))
        self._before.setdefault(path, read(path))
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
        self._note(path)

    def undo(self) -> None:
        """What was written is as it was before: something has failed."""
        for path, text in self._before.items():
            if text is None:
                path.unlink(missing_ok=True)
                with suppress(OSError):  # others have something there
                    path.parent.rmdir()
            else:
                path.write_text(text, encoding="utf-8", newline="")
        if self._begun is not None:
            self._forget(self._begun)

    def remove(self, path: Path) -> None:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
            self._note(path)
        elif path.exists() or path.is_symlink():
            path.unlink()
            self._note(path)

    def _note(self, path: Path) -> None:
        if str(path) not in self.changed:
            self.changed.append(str(path))

    # What was there before

    def keep(self, agent: str, *paths: Path) -> None:
        """Remembers what the files were before anything was installed, once."""
        record = self._record(agent)
        if read(record) is None:
            self._begun = record
        known = _recorded(record)
        for path in paths:
            known.setdefault(str(path), read(path))
        if self._begun or _recorded(record) != known:
            record.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            record.touch(mode=0o600)
            record.write_text(json.dumps(known), encoding="utf-8")

    def restore(self, agent: str, meaning: Callable[[str], Any]) -> None:
        """Where a file says nothing else by now than it did before, it is what it was, to the byte. A remark that a
        person has made meanwhile stays."""
        record = self._record(agent)
        for name, before in _recorded(record).items():
            path, now = Path(name), read(Path(name))
            if now is None or now == before:
                continue
            try:
                same = meaning(now) == meaning(before or "") and remarks(now) <= remarks(before or "")
            except ValueError:
                continue
            if same and before is None:
                self.remove(path)
            elif same and before is not None:
                self.write(path, before)
        self._forget(record)

    def _forget(self, record: Path) -> None:
        record.unlink(missing_ok=True)
        for folder in (record.parent, record.parent.parent, self.own):
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()

    def _record(self, agent: str) -> Path:
        return self.own / "hooks" / agent / "before.json"


def serves(command: Sequence[str], agent: str) -> bool:
    """Whether a server of that command was added here. One of the same name may be a person's own."""
    return list(command[-3:]) == ["mcp", "--agent", agent]


def taken_name(path: Path, wanted: Any) -> ByHand:
    return ByHand(path, "it has a server of your own named tieline: give that another name first", json.dumps(wanted))


def read(path: Path) -> str | None:
    """None where there is no such file. Raises `OSError`, also where it is no text."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise OSError(errno.EILSEQ, "it is no UTF-8 text", str(path)) from None


def _recorded(record: Path) -> dict[str, str | None]:
    """What a record says. One that was cut off tells nothing."""
    try:
        known = json.loads(read(record) or "{}")
    except ValueError:
        return {}
    return known if isinstance(known, dict) else {}
