"""`tieline demo`: five scenes with the real bridge, real agent processes and real time."""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from adapters.compose import bridge
from adapters.demo.home import PERSONAS, furnish
from adapters.settings.load import load
from adapters.system import SystemClock
from adapters.terminal.chat import TerminalChat
from bridge.flow.exchange import Exchange
from bridge.message import Origin

OK, FAILED, USAGE = 0, 70, 64
_PATIENCE_S = 30
_TIELINE = (sys.executable, "-P", "-m", "adapters.main")


def demo(arguments: Sequence[str]) -> int:
    """Plays the scenes and returns 0, or 70 where one did not come about."""
    parser = argparse.ArgumentParser(prog="tieline demo", description="See Tieline work, without any setup.")
    parser.add_argument("--interactive", action="store_true", help="then type into the topics yourself")
    parser.add_argument("--json", action="store_true", help=argparse.SUPPRESS)
    try:
        options = parser.parse_args(list(arguments))
    except SystemExit as ended:
        return USAGE if ended.code else OK
    # A reader that goes away, like `head`, ends the demo without a word.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    with tempfile.TemporaryDirectory(prefix="tieline-demo-") as home:
        try:
            return asyncio.run(_play(Path(home), interactive=options.interactive))
        except TimeoutError:
            print(f"a scene did not come about within {_PATIENCE_S} s", file=sys.stderr)
            return FAILED
        except KeyboardInterrupt:
            return OK


async def _play(home: Path, *, interactive: bool) -> int:
    furnish(home)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TIELINE_")}
    environ["TIELINE_HOME"] = str(home)
    clock = SystemClock()
    chat = TerminalChat(clock, lambda line: print(line, flush=True))
    async with bridge(load(home, environ), environ, chats=[chat]) as exchange:
        scenes = _Scenes(exchange, chat, environ)
        async with asyncio.timeout(_PATIENCE_S):
            await scenes.play()
        if interactive:
            await scenes.converse()
    return OK


class _Scenes:
    def __init__(self, exchange: Exchange, chat: TerminalChat, environ: Mapping[str, str]) -> None:
        self._exchange = exchange
        self._chat = chat
        self._environ = environ

    async def play(self) -> None:
        chat = self._chat
        chat.note("1. Front Desk hands a recruiter's request to Career, which is idle and wakes.")
        await self._say("front-desk", "A recruiter wrote me, can you look into it?")
        await chat.seen("front-desk", "I have handed this to Career.")
        chat.note("2. A second request comes while Career is busy: it queues.")
        await self._say("front-desk", "And which salary should I ask for?")
        await chat.seen("front-desk", "queued, 1st in line")
        await chat.seen("front-desk", "Career told me: Yes")
        await chat.seen("front-desk", "Career told me: Ask for 95k")
        chat.note("3. Finance takes nothing from Front Desk: the operator's rule says so.")
        await self._say("front-desk", "Please pay the course.")
        await chat.seen("front-desk", "refused: not_permitted")
        await chat.seen("front-desk", "Finance did not take it.")
        chat.note("4. Two agents would answer each other all night: the loop guard stops them.")
        await self._say("ping", "Play with Pong.")
        await chat.seen("ping", "Stopped: ")
        chat.note("5. A shell asks Career and gets its reply:")
        chat.note('$ tieline ask career "How many offers are open?"')
        print(await self._tieline("ask", "career", "How many offers are open?"), flush=True)
        handoff = await chat.seen("front-desk", "→ career")
        chat.note(f"The trace of the first handoff, as `tieline trace {handoff.message}` shows it:")
        await self._trace(handoff.message or "")

    async def converse(self) -> None:
        """Lets a person type into the topics until the end of input."""
        topic = next(iter(PERSONAS))
        self._chat.note(
            f"Your turn: type into {topic}; `@career TEXT` changes the topic, /help lists commands, ^D ends."
        )
        while line := await asyncio.to_thread(sys.stdin.readline):
            text = line.strip()
            if text.startswith("@"):
                name, _, text = text[1:].partition(" ")
                topic = name if name in PERSONAS else topic
            if text.strip():
                await self._say(topic, text.strip())

    async def _say(self, topic: str, text: str) -> None:
        await self._chat.say(self._exchange.inbound, topic, text)

    async def _trace(self, ident: str) -> None:
        person = await self._exchange.caller(None, origin=Origin.USER, bound=None)
        steps = await self._exchange.trace(person, ident)
        for step in steps:
            detail = " ".join(f"{name}={value}" for name, value in step.detail.items())
            print(f"  +{step.at - steps[0].at:6.3f}s  {step.step:<9} {step.session:<19} {detail[:150]}", flush=True)

    async def _tieline(self, *arguments: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *_TIELINE, *arguments, env=self._environ, stdout=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL
        )
        out, _ = await process.communicate()
        if process.returncode:
            raise RuntimeError(f"tieline {arguments[0]} ended with {process.returncode}")
        return out.decode().rstrip()
