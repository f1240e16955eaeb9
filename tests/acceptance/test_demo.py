"""The first minute: the demo tells its story, to a screen and to a pipe, and then talks to whoever types."""

import asyncio
import os
import pty
import signal
from pathlib import Path

import pytest

from tests.acceptance.home import PATIENCE_S, TIELINE

STORY = (
    "→ career: A recruiter of Initech offers me a job. Is it serious? · woken",
    "queued, 1st in line",
    "career: Yes: Initech is in the register, and is hiring.",
    "refused: not_permitted",
    "Stopped: ping → pong was refused",
    "\nTwo are open: Initech and Hooli.\n",
    "search the register",
)


class Demo:
    """`tieline demo` on a terminal of its own."""

    def __init__(self, tmp_path: Path, *options: str) -> None:
        self._options = options
        self._environ = {**os.environ, "TERM": "xterm", "TMPDIR": str(tmp_path)}
        self.text = ""

    async def __aenter__(self) -> "Demo":
        self.pid, self._screen = pty.fork()
        if self.pid == 0:
            os.execvpe(TIELINE[0], [*TIELINE, "demo", *self._options], self._environ)
        return self

    async def __aexit__(self, kind: object, *_: object) -> None:
        if kind is not None:
            os.kill(self.pid, signal.SIGKILL)
        while await self._read():
            pass
        self.code = await asyncio.to_thread(lambda: os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1]))
        os.close(self._screen)

    async def until(self, part: str) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while part not in self.text:
                assert await self._read(), f"it ended without {part!r}:\n{self.text}"

    async def _read(self) -> bool:
        """Takes in what is shown next. False once nobody holds the other side of the terminal."""
        try:
            shown = await asyncio.to_thread(os.read, self._screen, 65536)
        except OSError:
            return False
        self.text += shown.decode(errors="replace").replace("\r\n", "\n")
        return bool(shown)

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    monkeypatch.setenv("NO_COLOR", "1")


async def test_it_tells_its_story_to_a_pipe(tmp_path: Path) -> None:
    process = await asyncio.create_subprocess_exec(
        *TIELINE,
        "demo",
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    async with asyncio.timeout(PATIENCE_S):
        out, err = await process.communicate()
    assert (process.returncode, err) == (0, b"")
    told = out.decode()
    assert [part for part in STORY if part not in told] == []
    assert "\x1b" not in told
    assert os.listdir(tmp_path) == []


async def test_it_tells_its_story_to_a_screen_and_answers_whoever_types(tmp_path: Path) -> None:
    async with Demo(tmp_path, "--interactive") as demo:
        await demo.until("Ctrl-D ends.")
        assert [part for part in STORY if part not in demo.text] == []
        demo.type("@career\n")
        await demo.until("What you type goes to career now.")
        demo.type("how many offers?\n")
        await demo.until("you> how many offers?\n")
        await demo.until("career │ Two are open")
        demo.type("@finance how many offers?\n")
        await demo.until("career │ career → finance: how many offers?")
        demo.type("@nobody\n")
        await demo.until("There is no topic 'nobody' here")
        demo.type("@ping\n[go on]\n")
        await demo.until("24 more messages.")
        demo.type("@front-desk\na trip, please\n")
        await demo.until("front-desk → travel needs your approval (ask, wake)")
        demo.type("@travel\n[approve once]\n")
        await demo.until("travel: It is booked: Friday at 8.")
        demo.type("/policy\n")
        await demo.until("← front-desk: once an operator approves: send, ask, wake")
        demo.type("\x04")
    assert demo.code == 0


async def test_an_interrupt_ends_it_and_leaves_nothing_behind(tmp_path: Path) -> None:
    async with Demo(tmp_path) as demo:
        await demo.until("you> A recruiter wrote me")
        os.kill(demo.pid, signal.SIGINT)
    assert demo.code == 130
    assert "Traceback" not in demo.text
    assert os.listdir(tmp_path) == []
