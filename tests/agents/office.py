"""A home with a real bridge, whose sessions have real agents of one make, in topics of a forum on loopback, and models
that say what is scripted."""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.acceptance.home import Home
from tests.agents.installed import path
from tests.agents.provider import Model, Provider
from tests.agents.window import Person
from tests.fakes.bot_api import BotApi
from tests.fakes.bot_api.world import Sent

CHAT = -1001
RECORDER = Path(__file__).with_name("recorder.py")
SLOW_S = 90.0
"""Until a real agent has said something: it may have to be started first, beside others."""

Settled = Callable[[Path, Provider, str], dict[str, str]]
"""Writes the agent's own configuration into a folder, for a model of the provider. Returns the environment that leads
it there."""


class Office:
    """`preset` is the agents' make, found on a PATH on which each of its programs is written down by the recorder. All
    of it is run by the `person`, where there is one."""

    def __init__(
        self,
        home: Home,
        api: BotApi,
        provider: Provider,
        preset: str,
        program: str,
        settled: Settled,
        *,
        person: Person | None = None,
    ) -> None:
        self.home = home
        self._person = person
        self.api = api
        self.provider = provider
        self.preset = preset
        self._settled = settled
        self.more_env: dict[str, str] = {}
        self._threads: dict[str, int] = {}
        self.folder = home.path / "agents"
        shadow = home.path / "bin"
        shadow.mkdir()
        recorded = f'"{sys.executable}" -I "{RECORDER}" "$AGENT_FOLDER/frames"'
        (shadow / program).write_text(f'#!/bin/sh\nPATH="${{PATH#*:}}" exec {recorded} {program} "$@"\n')
        (shadow / program).chmod(0o755)
        home.variables["PATH"] = os.pathsep.join([str(shadow), path()])
        user = person.home if person is not None else home.path / "user"
        user.mkdir(exist_ok=True)
        home.variables["HOME"] = str(user)
        home.limits(stop_grace_s=5, worker_grace_s=2)

    def member(self, handle: str, **more: object) -> Model:
        """A session with an agent and a model of its own, in a topic of its own."""
        folder = self.folder / handle
        (folder / "work").mkdir(parents=True)
        thread = self._threads[handle] = 42 + len(self._threads)
        env = {"AGENT_FOLDER": str(folder), **self._settled(folder, self.provider, handle), **self.more_env}
        table = ", ".join(f"{name} = {json.dumps(value)}" for name, value in env.items())
        self.home.tables.append(f'[agents.{handle}]\npreset = "{self.preset}"\nenv = {{ {table} }}')
        self.home.session(handle, handle, f"telegram:{CHAT}/{thread}", cwd=str(folder / "work"), **more)
        return self.provider.model(handle)

    @property
    def members(self) -> list[str]:
        return list(self._threads)

    async def open(self) -> None:
        self.api.forum(CHAT, topics={thread: name.title() for name, thread in self._threads.items()})
        self.home.telegram(self.api, chats=[CHAT])
        if self._person is not None:
            self.home.write()
            self.home.through = self._person.through
            self._person.owns(self.home.path, *self.home.path.rglob("*"))
        await self.home.up()

    def say(self, handle: str, text: str) -> None:
        self.api.say(text, chat=CHAT, thread=self._threads[handle], user=111)

    async def seen(self, handle: str, part: str) -> Sent:
        thread = self._threads[handle]
        return await self.api.seen(lambda one: one.thread == thread and part in one.text, SLOW_S)

    def posts(self, handle: str) -> list[str]:
        return [one.text for one in self.api.sent(CHAT, self._threads[handle])]

    async def heard(self, handle: str, update: str) -> None:
        """Waits until an agent has told that of its work: only its own record shows when."""
        told = json.dumps({"sessionUpdate": update})[1:-1]
        async with asyncio.timeout(SLOW_S):
            while not any(told in json.dumps(one) for one in self.frames(handle)[-1:]):  # noqa: ASYNC110
                await asyncio.sleep(0.05)

    async def until_queued(self, count: int) -> None:
        async with asyncio.timeout(SLOW_S):
            while (await self.home.tieline("status", "--json")).lines[0]["queued"] < count:  # noqa: ASYNC110
                await asyncio.sleep(0.1)

    async def until_settled(self, sent: Mapping[str, Any]) -> Any:
        """Waits for the end of what the shell has sent. Returns what the trace says of it."""
        async with asyncio.timeout(SLOW_S):
            while True:
                steps = (await self.home.tieline("trace", sent["message_id"], "--json")).lines
                for step in steps:
                    if step["step"] == "settled":
                        return step["detail"]
                await asyncio.sleep(0.2)

    async def until_answered(self, sent: Mapping[str, Any], text: str) -> None:
        """Waits for the answer to what the shell has sent."""
        asking = ("inbox", "--json")
        async with asyncio.timeout(SLOW_S):
            while True:
                came = (await self.home.tieline(*asking)).lines
                if any(text in one["text"] and one["in_reply_to"] == sent["message_id"] for one in came):
                    return
                await asyncio.sleep(0.2)

    def frames(self, handle: str) -> list[list[Any]]:
        """What each process of an agent and the bridge have said to each other."""
        files = sorted((self.folder / handle / "frames").glob("*.jsonl"), key=lambda file: int(file.stem))
        return [[json.loads(line) for line in file.read_text().splitlines()] for file in files]

    def prompts(self, handle: str) -> list[list[Any]]:
        """The blocks of each prompt."""
        every = [one["frame"] for process in self.frames(handle) for one in process if one["by"] == "bridge"]
        return [frame["params"]["prompt"] for frame in every if frame.get("method") == "session/prompt"]
