"""A real bridge beside the agents in a person's terminals, and a desk that sends them mail from another shell."""

import asyncio
import json
import re
import shlex
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from bridge.notices import MAIL_BESIDE_WORK, MAIL_IN_TERMINAL
from tests.acceptance.home import PATIENCE_S, TIELINE, Home
from tests.agents.installed import path
from tests.agents.provider import Asked, Calls, Makes, Model, Provider, Says
from tests.agents.window import Person, Window

CANARY = "the canary of the desk"
ANSWER = "Read and answered in the terminal."
AT_ONCE_S = 2.0
_ID = re.compile(r"message_id\W+([0-9a-f-]{36})")


class Beside:
    """`environ` leads the agent of a `command` to the provider. Whatever a model is told of mail, it reads; whatever
    it has read, it answers."""

    def __init__(self, person: Person, provider: Provider, home: Home, environ: Mapping[str, str]) -> None:
        self.person = person
        self.home = home
        self.provider = provider
        self._environ = environ

    @property
    def model(self) -> Model:
        return self.provider.model("stub")

    def answers(self) -> None:
        for notice in (MAIL_BESIDE_WORK, MAIL_IN_TERMINAL):
            self.model.on(notice, Calls("peer_receive"))
        self.model.on(CANARY, Makes(_reply), tool="peer_receive")
        self.model.on("", Says("answered"), tool="peer_reply")

    def window(self, command: str, folder: str = "work") -> Window:
        env = {**self.home.environ, **self._environ}
        return Window(self.person, command, cwd=self.person.folder(folder), env=env)

    def tieline(self, *arguments: str) -> str:
        """What the person runs in a shell."""
        done = subprocess.run(
            [*self.person.through, *TIELINE, *arguments],
            env=self.home.environ,
            cwd=self.person.home,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    # The desk

    async def asks(self, session: str, text: str) -> str:
        """What is answered."""
        answer = (await self.home.tieline("ask", session, text, "--from", "desk", "--json")).json
        assert answer["answer"] == "answered", answer
        return str(answer["reply"]["text"])

    async def sends(self, session: str, text: str) -> None:
        sent = await self.home.tieline("send", session, text, "--from", "desk", "--wake", "--json")
        assert sent.code == 0, sent.out

    async def wakes(self, session: str, text: str) -> float:
        """Asks an idle agent, and returns how many seconds went by until its model was asked because of it."""
        begun = time.monotonic()
        times = len([one for one in self.model.asked if MAIL_IN_TERMINAL in one.last.text]) + 1
        asking = asyncio.create_task(self.asks(session, text))
        await self.model.is_asked(MAIL_IN_TERMINAL, times)
        took = time.monotonic() - begun
        assert await asking == ANSWER
        return took

    async def sees(self, session: str, holds: Callable[[Any], bool]) -> Any:
        """Waits until its view of a session is so: what other processes do is announced by nothing but the list."""
        async with asyncio.timeout(2 * PATIENCE_S):
            while True:
                every = (await self.home.tieline("sessions", "--from", "desk", "--json")).lines
                found = [one for one in every if one["id"] == f"default/{session}"]
                if found and holds(found[0]):
                    return found[0]
                await asyncio.sleep(0.1)

    async def idle(self, session: str) -> None:
        await self.sees(session, lambda one: one["reachable"] == "wake" and one["activity"] == "idle")

    async def inbox(self) -> list[tuple[str, str, str]]:
        lines = (await self.home.tieline("inbox", "--from", "desk", "--json")).lines
        return [(one["from"], one["origin"], one["text"]) for one in lines]

    async def alone(self) -> None:
        """Nobody waits any more to wake an agent."""
        async with asyncio.timeout(PATIENCE_S):
            while any(b"\0wait\0" in command for command in map(_command, self.person.processes())):  # noqa: ASYNC110
                await asyncio.sleep(0.1)

    # What the models were told

    def never_as_its_persons_words(self) -> None:
        """The texts of peers stand in results of tools, and nowhere else."""
        seen = {line.role for asked in self.model.asked for line in asked.lines if CANARY in line.text}
        assert seen == {"tool"}


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _reply(asked: Asked) -> Calls:
    """To the last that was read."""
    return Calls("peer_reply", {"message_id": _ID.findall(asked.last.text)[-1], "text": ANSWER})


@asynccontextmanager
async def beside(
    person: Person, provider: Provider, agent: str, environ: Mapping[str, str], *sessions: str
) -> AsyncIterator[Beside]:
    """With the agent's hooks installed, and a desk that may ask those sessions and hear of them."""
    home = Home(person.folder("tieline"))
    home.through = person.through
    home.variables = {"HOME": str(person.home), "PATH": path(), **environ}
    home.session("desk")
    for session in sessions:
        home.rule("default/desk", f"default/{session}")
        home.rule(f"default/{session}", "default/desk")
    try:
        await home.up()
        there = Beside(person, provider, home, {"HOME": str(person.home), "PATH": path(), **environ})
        assert json.loads(there.tieline("hook", "install", agent, "--json"))["action"] == "installed"
        yield there
    finally:
        await home.close()


def shell(*arguments: str) -> str:
    """A command line of `tieline`."""
    return shlex.join([*TIELINE, *arguments])
