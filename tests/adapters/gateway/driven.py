"""The reference gateway as a command, for `tieline gateway check`. `--spoilt NAME` does one thing wrong."""

import asyncio
import json
import os
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from tests.adapters.gateway.reference import Gateway, Kept, Turn

TOPIC = "topic"


def _repeats(gateway: Gateway) -> None:
    work = gateway._work

    def again(frame: dict[str, object]) -> None:
        gateway.kept.turns.pop(str(frame["turn"]), None)
        work(frame)

    gateway._work = again  # type: ignore[method-assign]


def _hurries(gateway: Gateway) -> None:
    gateway.idle = lambda key: True  # type: ignore[method-assign]


def _forgets(gateway: Gateway) -> None:
    gateway.kept.file = None


SPOILT: dict[str, Callable[[Gateway], None]] = {"repeats": _repeats, "hurries": _hurries, "forgets": _forgets}


async def main(spoil: Callable[[Gateway], None]) -> None:
    home, token = Path(os.environ["TIELINE_HOME"]), os.environ["TIELINE_GATEWAY_TOKEN"]
    gateway = Gateway(home, token, {TOPIC: "Topic"}, Kept.of(home / "gateway.json"))
    going: dict[str, asyncio.Event] = defaultdict(asyncio.Event)
    going[TOPIC].set()

    async def model(_: Gateway, turn: Turn) -> str:
        await going[turn.key].wait()
        return "done"

    gateway.models[TOPIC] = model
    spoil(gateway)

    async def people() -> None:
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
        while line := await reader.readline():
            said = json.loads(line)
            if said["do"] == "person":
                gateway.person(said["key"], model)
            else:
                (going[said["key"]].set if said["do"] == "go" else going[said["key"]].clear)()
            print(json.dumps({"did": said["do"]}), flush=True)

    listening = asyncio.create_task(people())
    while not listening.done():
        await gateway.link()
        assert gateway.reading is not None
        await asyncio.wait([gateway.reading, listening], return_when=asyncio.FIRST_COMPLETED)


if __name__ == "__main__":
    asyncio.run(main(SPOILT.get(sys.argv[-1], lambda gateway: None)))
