"""A home with a real bridge process, real agent processes and the real shell commands."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from adapters.process import birth_of
from tests.acceptance.forks import Forked, Forks
from tests.acceptance.terminal import Ran, Terminal, controlled_by
from tests.databases import made
from tests.fakes.bot_api import BotApi

TIELINE = (sys.executable, "-P", "-m", "adapters.main")
VERBS = ("discover", "send", "ask", "wake")
PATIENCE_S = 30.0


def _parent(pid: int) -> int:
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    return 0


class Home:
    """Describe it, then `up()`. What it started it ends with `close()`, by process id. Its bridge comes from `forks`,
    or else is started as a command: `through` another one that becomes it, where one is named. What comes from `forks`
    keeps to Telegram's rates where it is `paced`."""

    def __init__(self, path: Path, forks: Forks | None = None) -> None:
        self.path = path
        self._forks = forks
        self.extra = ""
        self.through: Sequence[str] = ()
        self.paced = False
        self.tables: list[str] = []
        self.rules: list[str] = []
        self._process: asyncio.subprocess.Process | Forked | None = None
        self._terminal: Terminal | None = None
        self._open = ExitStack()
        self.stderr = path / "stderr.txt"
        self.variables: dict[str, str] = {}
        self.runtime = path

    # What it holds

    def agent(
        self,
        name: str,
        *rules: Mapping[str, object],
        command: Sequence[str] | None = None,
        program: Path | None = None,
        **options: str,
    ) -> None:
        """A scripted agent with a persona of these rules, which records the frames that it receives. `program` is one
        in its place, which takes the same options."""
        persona = self.path / f"{name}.persona.json"
        persona.write_text(json.dumps({"rules": list(rules)}))
        runs = ["-m", "adapters.scripted"] if program is None else [str(program)]
        scripted = [sys.executable, "-P", *runs, "--persona", str(persona)]
        scripted += ["--state", str(self.path / f"{name}.state"), "--record", str(self._record(name))]
        for option, value in options.items():
            scripted += [f"--{option}", value]
        (self.path / f"{name}.state").mkdir(exist_ok=True)
        self.tables.append(f"[agents.{name}]\ncommand = {json.dumps(list(command or scripted))}")

    def session(self, handle: str, agent: str | None = None, *places: str, **more: object) -> None:
        lines = [f"[sessions.{handle}]"]
        lines += [f'agent = "{agent}"'] if agent else ['kind = "shell"']
        lines += [f"places = {json.dumps(list(places))}"] if places else []
        lines += [f"{name} = {json.dumps(value)}" for name, value in more.items()]
        self.tables.append("\n".join(lines))

    def worker(
        self,
        handle: str,
        *rules: Mapping[str, object],
        places: Sequence[str] = (),
        program: Path | None = None,
        **options: str,
    ) -> None:
        """A session with a scripted agent of its own."""
        self.agent(handle, *rules, program=program, **options)
        self.session(handle, handle, *places)

    def rule(self, sender: str, recipient: str, verbs: Sequence[str] = VERBS, effect: str = "allow") -> None:
        self.rules.append(
            f'[[policy.rules]]\nfrom = "{sender}"\nto = "{recipient}"\n'
            f'verbs = {json.dumps(list(verbs))}\neffect = "{effect}"'
        )

    def limits(self, **limits: float) -> None:
        self.tables.append("\n".join(["[limits]", *(f"{name} = {value}" for name, value in limits.items())]))

    def telegram(
        self, api: BotApi, *, operators: Sequence[int] = (111,), users: Sequence[int] = (), chats: Sequence[int]
    ) -> None:
        self.tables.append(
            f'[telegram]\ntoken = "{api.token}"\nbase_url = "{api.base_url}"\noperators = {list(operators)}\n'
            f"users = {list(users)}\nchats = {list(chats)}"
        )

    def frames(self, name: str) -> list[Any]:
        """Every ACP frame that an agent has received."""
        path = self._record(name)
        whole = path.read_text().rpartition("\n")[0] if path.exists() else ""  # the last line may be on its way still
        return [json.loads(line) for line in whole.splitlines()]

    def prompts(self, name: str) -> list[list[Any]]:
        """The content blocks of each prompt that an agent has received."""
        return [frame["params"]["prompt"] for frame in self.frames(name) if frame.get("method") == "session/prompt"]

    # Its bridge

    def write(self) -> None:
        """Writes its settings, as `up` does."""
        text = "\n".join([self.extra, *self.tables, *self.rules])
        (self.path / "tieline.toml").write_text(text + "\n")

    async def up(self, *options: str, by_hand: bool = False) -> Any:
        """Starts the bridge, in a terminal of its own where it is `by_hand`. Returns the line that says that it
        accepts."""
        self.write()
        if not (self.path / "tieline.db").exists():
            made(self.path / "tieline.db")
        with self.stderr.open("ab") as stderr, ExitStack() as started:
            if self._forks is not None and not self.through and not by_hand:
                self._process = await self._forks.start(("run", *options), self.environ, stderr, paced=self.paced)
            else:
                terminal: dict[str, Any] = {"start_new_session": True}
                if by_hand:
                    keyboard, slave = os.openpty()
                    self._open.callback(os.close, keyboard)
                    started.callback(os.close, slave)
                    terminal = controlled_by(slave)
                command = (*self.through, *TIELINE, "run", *options)
                self._process = await asyncio.create_subprocess_exec(
                    *command, env=self.environ, stdout=asyncio.subprocess.PIPE, stderr=stderr, **terminal
                )
        assert self._process.stdout is not None
        async with asyncio.timeout(PATIENCE_S):
            line = await self._process.stdout.readline()
        assert line, f"the bridge did not start: {self.stderr.read_text()}"
        return json.loads(line)

    async def down(self) -> int:
        """Asks the bridge to end. Returns its exit code."""
        return await self._ended(signal.SIGTERM)

    async def kill(self, *, workers: bool = False) -> None:
        """With its `workers`, in which case nothing can be adopted."""
        found = self.workers() if workers else []
        await self._ended(signal.SIGKILL)
        for pid in found:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def agents(self) -> list[int]:
        """The processes of scripted agents whose command line names this home."""
        found = []
        for pid in map(int, filter(str.isdecimal, os.listdir("/proc"))):
            with suppress(OSError):
                line = Path(f"/proc/{pid}/cmdline").read_bytes()
                if b"--persona" in line and os.fsencode(self.path) in line:
                    found.append(pid)
        return found

    def workers(self) -> list[int]:
        """The processes that run them."""
        return [parent for pid in self.agents() if (parent := _parent(pid)) > 1]

    def hang_up(self) -> None:
        """Asks the bridge to read its file again."""
        assert self._process is not None
        self._process.send_signal(signal.SIGHUP)

    async def logged(self, part: str, times: int = 1) -> None:
        """Waits until the bridge has logged it that often."""
        async with asyncio.timeout(PATIENCE_S):
            while self.stderr.read_text().count(part) < times:  # noqa: ASYNC110
                await asyncio.sleep(0.02)

    async def traced(self, message: str, part: str) -> None:
        """Waits until a step in the trace of a message says so."""
        async with asyncio.timeout(PATIENCE_S):
            while part not in (await self.typed("trace", message, "--json")).out:
                pass

    async def close(self) -> None:
        if self._terminal is not None:
            await self._terminal.close()
        with self._open:
            if self._process is not None and self._process.returncode is None:
                await self.down()
            left = [*self.workers(), *self.agents()]  # at a turn that no bridge will adopt
            for pid in self.workers():
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGTERM)
            async with asyncio.timeout(PATIENCE_S):
                while any(birth_of(pid) for pid in left):  # noqa: ASYNC110 - the kernel tells only parents
                    await asyncio.sleep(0.02)

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    async def _ended(self, number: signal.Signals) -> int:
        assert self._process is not None
        self._process.send_signal(number)
        async with asyncio.timeout(PATIENCE_S):
            return await self._process.wait()

    # Its shell

    @property
    def environ(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TIELINE_")}
        return {**kept, "TIELINE_HOME": str(self.path), "XDG_RUNTIME_DIR": str(self.runtime), **self.variables}

    async def tieline(self, *arguments: str, stdin: bytes | None = None) -> Ran:
        process = await self.began(*arguments)
        try:
            async with asyncio.timeout(PATIENCE_S):
                out, err = await process.communicate(stdin)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return Ran(process.returncode or 0, out.decode(), err.decode())

    async def inbox(self) -> list[Any]:
        return (await self.tieline("inbox", "--json")).lines

    async def began(self, *arguments: str) -> asyncio.subprocess.Process:
        """A program without a terminal, wherever the tests were started."""
        return await asyncio.create_subprocess_exec(
            *TIELINE,
            *arguments,
            env=self.environ,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )

    async def typed(self, *arguments: str) -> Ran:
        """The same as a person types it, in a terminal of the person's own that stays open."""
        if self._terminal is None:
            self._terminal = await Terminal.opened(self.environ)
        async with asyncio.timeout(PATIENCE_S):
            return await self._terminal.type(*arguments)

    async def ask(self, to: str, text: str, *, timeout: float = PATIENCE_S) -> Ran:
        return await self.tieline("ask", to, text, "--timeout", str(timeout), "--json")

    def _record(self, name: str) -> Path:
        return self.path / f"{name}.frames.jsonl"


async def exist(*paths: Path) -> None:
    """Waits until agents have made all these files: the one sign of theirs that nothing announces."""
    async with asyncio.timeout(PATIENCE_S):
        for path in paths:
            while not path.exists():  # noqa: ASYNC110
                await asyncio.sleep(0.02)
