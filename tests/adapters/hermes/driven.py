"""Hermes' plugin with a stand-in of Hermes around it, as a command for `tieline gateway check`."""

import asyncio
import contextvars
import json
import os
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from adapters.hermes.tieline_hermes.desk import Desk

TOPIC = "agent:main:telegram:group:-1001:42"
_KEY: contextvars.ContextVar[str] = contextvars.ContextVar("key")


class StandIn:
    """What the plugin uses of Hermes' gateway: one topic, whose agent says `done` once it may go on."""

    draining = False

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.runner = SimpleNamespace(_running_agents={})
        self.going: dict[str, threading.Event] = defaultdict(threading.Event)
        self.going[TOPIC].set()
        self.desk: Desk
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._interrupted: set[str] = set()
        self._waiting: list[str] = []
        self._numbers = count(1)

    def entries(self) -> Iterator[Any]:
        origin = SimpleNamespace(chat_topic="Front Desk", thread_id="42")
        yield SimpleNamespace(session_key=TOPIC, session_id="context-1", origin=origin, resume_pending=False)

    def entry(self, key: str) -> Any:
        return next((one for one in self.entries() if one.session_key == key), None)

    def busy(self, key: str) -> bool:
        return key in self._tasks and not self._tasks[key].done()

    def wake(self, key: str, text: str, ended: Callable[[], None]) -> bool:
        self._tasks[key] = self.loop.create_task(self._turn(key))
        self._tasks[key].add_done_callback(lambda _: ended())
        return True

    def person(self, key: str) -> None:
        self.wake(key, "", lambda: None)

    def interrupt(self, key: str) -> None:
        self._interrupted.add(key)

    async def show(self, key: str, text: str, receipt: str | None) -> str:
        return receipt or f"shown-{next(self._numbers)}"

    async def _turn(self, key: str) -> None:
        await asyncio.to_thread(self._agent, key)

    def _agent(self, key: str) -> None:
        """In a thread of its own, as Hermes' agents run."""
        _KEY.set(key)
        task = f"task-{next(self._numbers)}"
        names: dict[str, Any] = {"turn_id": f"{task}:1", "task_id": task}
        self.desk.hooks.pre_llm_call(**names)
        while not self.going[key].wait(0.02):
            if key in self._interrupted:
                self._interrupted.discard(key)
                self.desk.hooks.on_session_end(interrupted=True, **names)
                return
        self.desk.hooks.post_llm_call(assistant_response="done", **names)
        self.desk.hooks.on_session_end(**names)


async def main() -> None:
    home = Path(os.environ["TIELINE_HOME"])
    session_context = ModuleType("gateway.session_context")
    session_context.get_session_env = lambda name: _KEY.get("")  # type: ignore[attr-defined]
    sys.modules["gateway"], sys.modules["gateway.session_context"] = ModuleType("gateway"), session_context
    (home / "hermes" / "tieline").mkdir(parents=True, exist_ok=True)
    (home / "hermes" / "tieline" / "token").write_text(os.environ["TIELINE_GATEWAY_TOKEN"])
    host = StandIn(asyncio.get_running_loop())
    host.desk = Desk(home / "hermes", home / "run" / "control.sock", "stand-in")
    host.desk.host = host  # type: ignore[assignment]
    host.desk.link.start()
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        said = json.loads(line)
        match said["do"]:
            case "person":
                host.person(said["key"])
            case "go":
                host.going[said["key"]].set()
            case _:
                host.going[said["key"]].clear()
        print(json.dumps({"did": said["do"]}), flush=True)
    host.desk.link.close()


if __name__ == "__main__":
    asyncio.run(main())
