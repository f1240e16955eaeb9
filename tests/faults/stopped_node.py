"""A bridge in a process of its own over a shared database, whose agent writes on and on: to be stopped past its lease.

It is told on stdin to `begin` a turn, or to say when nothing is left to do (`idle`). Lines on stdout tell when the
turn is at work, and when it is over, with how many of its calls were accepted and how many were refused as stale.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import cast

from adapters.sqlite.store import open_store
from adapters.system import SystemClock
from bridge.errors import Code, Refused
from bridge.limits import Limits
from bridge.message import Intent
from bridge.ports.runtime import ToolBegun
from bridge.views import Send
from tests.fakes.chat import FakeChat
from tests.fakes.clock import ManualClock
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import Stage, ident, session, stage

NODES = Limits(lease_s=0.4, stop_grace_s=0.1, pair_messages=10**6, inbox=10**6, conversation_messages=10**6)
"""A short lease, and nothing else that would refuse what the agent writes."""

SESSIONS = (session("career"), session("tool", agent=None))
WRITES = 40


async def work(on: Stage, agent: FakeAgent) -> str:
    """Reads, then calls again and again, a few milliseconds apart, as the turn that it began in: what is under way
    when the agent is ended is under way still."""
    assert agent.listener is not None
    accepted, stale = 0, 0
    caller = await on.tools(agent).caller()
    await on.exchange.receive(caller, 10)
    tell({"event": "at work"})
    for number in range(WRITES):
        await on.clock.sleep(0.004)
        await agent.listener.happened(ToolBegun(str(number), "edit", reading=False))
        try:
            await on.exchange.send(caller, Send("tool", f"step {number}", Intent.INFORM))
        except Refused as refused:
            stale += refused.code is Code.STALE_EPOCH
        else:
            accepted += 1
    tell({"event": "over", "accepted": accepted, "stale": stale})
    return "what I found"


def tell(line: dict[str, object]) -> None:
    print(json.dumps(line), flush=True)


async def main(path: Path) -> None:
    store = await open_store(path)
    async with stage(
        *SESSIONS,
        store=store,
        chat=FakeChat("elsewhere"),
        clock=cast(ManualClock, SystemClock()),
        limits=NODES,
        node="first",
        seed=1,
    ) as on:
        on.agent("career", lambda agent, prompt: asyncio.shield(work(on, agent)))
        tell({"event": "ready"})
        while command := await asyncio.to_thread(sys.stdin.readline):
            if command == "begin\n":
                await on.send("career", "a task")
            else:
                while await store.queue(ident("career")) or await store.live_turn(ident("career")):
                    await on.clock.sleep(0.005)
                tell({"event": "idle"})
    await store.close()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
