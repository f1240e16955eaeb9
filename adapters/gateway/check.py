"""`tieline gateway check COMMAND …`: a scripted bridge that drives a gateway through what the link asks of it.

The command is started with `TIELINE_HOME`, where the link is, and `TIELINE_GATEWAY_TOKEN`. It reads from its stdin what
people do, a JSON object a line: `{"do": "hold", "key": K}`, so that whatever begins in that session goes on until
`{"do": "go", "key": K}`; and `{"do": "person", "key": K}`, a person writes there. Once that is done it says so on its
stdout: `{"did": "hold"}`. It is killed and started again.
"""

import argparse
import asyncio
import json
import os
import tempfile
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from adapters.gateway.bench import Bench, Wrong
from adapters.gateway.frames import MOST_BYTES, Frame


async def _idle(bench: Bench) -> None:
    turn = bench.work()
    await bench.next("accepted", turn=turn)
    await bench.next("started", turn=turn)
    end = await bench.ended(turn)
    if end.get("outcome") != "completed" or not isinstance(end.get("text"), str):
        raise Wrong(f"the turn ends as {end.get('outcome')!r}, without a text")


async def _twice(bench: Bench) -> None:
    await bench.people("hold", bench.keys[0])
    turn = bench.work()
    await bench.next("started", turn=turn)
    bench.work(turn=turn)
    await bench.next("started", turn=turn)
    await bench.people("go", bench.keys[0])
    await bench.next("finished", turn=turn)
    bench.work(turn=turn)
    end = await bench.ended(turn)
    if end.get("outcome") != "completed":
        raise Wrong("work that is told again does not end as it had ended")
    await bench.never("started", turn, "work that was acknowledged is begun again")


async def _stale(bench: Bench) -> None:
    await bench.people("hold", bench.keys[0])
    turn = bench.work(epoch=2)
    await bench.next("started", turn=turn)
    bench.say("cancel", turn=turn, epoch=1)
    await bench.never("finished", turn, "a cancel of an earlier epoch ends the turn")
    bench.say("claim", turn=turn, epoch=3)
    if (await bench.next("started", turn=turn)).get("epoch") != 3:
        raise Wrong("a turn that is claimed does not go on under the new epoch")
    await bench.people("go", bench.keys[0])
    end = await bench.ended(turn)
    if (end.get("outcome"), end.get("epoch")) != ("completed", 3):
        raise Wrong("a turn that is claimed does not end under the new epoch")


async def _person_first(bench: Bench) -> None:
    key = bench.keys[0]
    await bench.people("hold", key)
    await bench.people("person", key)
    own = await bench.next("turn_begun")
    turn = bench.work()
    await bench.next("accepted", turn=turn)
    await bench.never("started", turn, "work begins while a person has a turn there")
    bench.say("withdraw", turn=turn, epoch=1)
    await bench.next("withdrawn", turn=turn)
    again = bench.work()
    await bench.next("accepted", turn=again)
    await bench.people("go", key)
    end = await bench.next("turn_ended", turn=own["turn"])
    bench.say("ack", turn=own["turn"], epoch=0)
    if end.get("outcome") != "completed":
        raise Wrong(f"a person's turn ends as {end.get('outcome')!r}")
    await bench.next("started", turn=again)
    await bench.ended(again)
    await bench.never("started", turn, "work that was given back is begun")


async def _cancel(bench: Bench) -> None:
    await bench.people("hold", bench.keys[0])
    turn = bench.work()
    await bench.next("started", turn=turn)
    bench.say("cancel", turn=turn, epoch=1)
    end = await bench.ended(turn)
    await bench.people("go", bench.keys[0])
    if end.get("outcome") != "interrupted":
        raise Wrong(f"a turn that is stopped ends as {end.get('outcome')!r}")
    await _idle(bench)


async def _cut(bench: Bench) -> None:
    key = bench.keys[0]
    await bench.people("hold", key)
    await bench.people("person", key)
    own = await bench.next("turn_begun")
    turn = bench.work()
    await bench.next("accepted", turn=turn)
    bench.cut()
    await bench.link()
    bench.say("claim", turn=turn, epoch=2)
    await bench.next("unknown", turn=turn)
    await bench.people("go", key)
    await bench.next("turn_ended", turn=own["turn"])
    bench.say("ack", turn=own["turn"], epoch=0)
    await bench.never("started", turn, "work is begun that had not begun as its link ended")


async def _end_kept(bench: Bench) -> None:
    turn = bench.work()
    await bench.next("finished", turn=turn)
    await bench.kill()
    await bench.start()
    bench.say("claim", turn=turn, epoch=2)
    if (await bench.ended(turn)).get("outcome") != "completed":
        raise Wrong("what had ended before a restart is told otherwise after it")
    bench.say("claim", turn=turn, epoch=3)
    await bench.next("unknown", turn=turn)


async def _killed(bench: Bench) -> None:
    await bench.people("hold", bench.keys[0])
    turn = bench.work()
    await bench.next("started", turn=turn)
    await bench.kill()
    await bench.start()
    bench.say("claim", turn=turn, epoch=2)
    told = await bench.next("started", "finished", "unknown", turn=turn)
    if told["type"] == "unknown":
        raise Wrong("a turn that had begun is not known any more after a restart")
    end = told if told["type"] == "finished" else await bench.next("finished", turn=turn)
    bench.say("ack", turn=turn, epoch=2)
    if end.get("outcome") not in ("lost", "completed"):
        raise Wrong(f"a turn that was cut off ends as {end.get('outcome')!r}")


async def _posts(bench: Bench) -> None:
    shown = []
    for _ in range(2):
        bench.say("post", id="post-1", key=bench.keys[0], text="shown once", kind="notice", receipt=None)
        shown.append((await bench.next("posted")).get("receipt"))
    if shown[0] != shown[1]:
        raise Wrong("a post that is told again is shown twice, or has another receipt")


Scenes = Sequence[tuple[str, Callable[[Bench], Awaitable[None]]]]

SCENES: Scenes = (
    ("an idle session runs its work", _idle),
    ("work that is told twice runs once", _twice),
    ("an older epoch changes nothing, and a newer one goes on", _stale),
    ("a person is first, and work makes way", _person_first),
    ("a stop ends a turn, and the next one works", _cancel),
    ("the end of a link drops what has not begun", _cut),
    ("an end is kept over a restart until it is acknowledged", _end_kept),
    ("a turn that a restart cuts off is told of", _killed),
    ("a post is shown once", _posts),
)


async def checked(
    command: Sequence[str], environ: Mapping[str, str], say: Callable[[Frame], None], scenes: Scenes = SCENES
) -> bool:
    """Runs the scenes against the gateway, and says of each what was seen. False where anything was wrong."""
    well = True
    for name, scene in scenes:
        with tempfile.TemporaryDirectory(prefix="tieline-") as folder:
            home = Path(folder)
            (home / "run").mkdir()
            bench = Bench(home, command, environ)
            server = await asyncio.start_unix_server(
                bench.took, path=str(home / "run" / "control.sock"), limit=MOST_BYTES
            )
            wrong = None
            try:
                await bench.start()
                await scene(bench)
            except Wrong as found:
                wrong, well = str(found), False
            finally:
                server.close()
                await bench.kill()
            say({"scene": name, "ok": wrong is None, "wrong": wrong})
    return well


def check(options: argparse.Namespace) -> int:
    """The command. Exits with 70 where the gateway does anything wrong."""

    def say(seen: Frame) -> None:
        if options.json:
            print(json.dumps(seen), flush=True)
        else:
            print(f"ok     {seen['scene']}" if seen["ok"] else f"WRONG  {seen['scene']}: {seen['wrong']}", flush=True)

    return 0 if asyncio.run(checked(options.words, os.environ, say)) else 70
