"""`tieline demo`: five scenes with the real bridge, real agent processes and real time."""

import argparse
import asyncio
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from adapters.api.shown import StepShown
from adapters.cli import reading
from adapters.cli.output import aligned
from adapters.compose import bridge
from adapters.demo.home import PERSONAS, furnish
from adapters.settings.load import load
from adapters.system import SystemClock
from adapters.terminal.chat import TerminalChat
from bridge.flow.exchange import Exchange
from bridge.message import Origin

OK, FAILED, USAGE, INTERRUPTED = 0, 70, 64, 130
_PATIENCE_S = 30
_TIELINE = (sys.executable, "-P", "-m", "adapters.main")
_WIPE_TYPED = "\x1b[A\x1b[2K"


class _NotPlayed(Exception):
    """A scene did not come about; the text says why."""


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
        except _NotPlayed as failed:
            print(failed, file=sys.stderr)
            return FAILED
        except KeyboardInterrupt:
            return INTERRUPTED


async def _play(home: Path, *, interactive: bool) -> int:
    furnish(home)
    environ = {name: value for name, value in os.environ.items() if not name.startswith("TIELINE_")}
    environ["TIELINE_HOME"] = str(home)
    chat = _terminal(environ)
    async with bridge(load(home, environ), environ, chats=[chat]) as exchange:
        scenes = _Scenes(exchange, chat, environ)
        async with asyncio.timeout(_PATIENCE_S):
            await scenes.play()
        if interactive:
            await scenes.converse()
        else:
            tieline = sys.argv[0] if Path(sys.argv[0]).name == "tieline" else "tieline"
            chat.note(f"Now yourself: {tieline} demo --interactive. With agents of your own: see README.md.")
    return OK


def _terminal(environ: Mapping[str, str]) -> TerminalChat:
    screen = sys.stdout.isatty()
    return TerminalChat(
        SystemClock(),
        lambda line: print(line, flush=True),
        columns=shutil.get_terminal_size().columns if screen else None,
        colours=screen and "NO_COLOR" not in environ and environ.get("TERM") != "dumb",
    )


class _Scenes:
    def __init__(self, exchange: Exchange, chat: TerminalChat, environ: Mapping[str, str]) -> None:
        self._exchange = exchange
        self._chat = chat
        self._environ = environ

    async def play(self) -> None:
        chat = self._chat
        chat.note("The real bridge, scripted agents. A line: when, in which topic, and what is read there.")
        chat.note("1. Front Desk hands a recruiter's request to Career, which is idle and wakes.")
        await self._say("front-desk", "A recruiter wrote me, can you look into it?")
        await chat.seen("front-desk", "I have handed this to Career.")
        chat.note("2. A second request comes while Career is busy: it queues.")
        await self._say("front-desk", "And which salary should I ask for?")
        await chat.seen("front-desk", "queued, 1st in line")
        await chat.seen("front-desk", "It is serious")
        await chat.seen("front-desk", "Then I ask them")
        chat.note("3. Finance takes nothing from Front Desk: the operator's rule says so.")
        await self._say("front-desk", "Please pay the course.")
        await chat.seen("front-desk", "refused: not_permitted")
        await chat.seen("front-desk", "Finance did not take it.")
        chat.note("4. Two agents would answer each other all night: the loop guard stops them.")
        await self._say("ping", "Play with Pong.")
        await chat.seen("ping", "Stopped: ")
        chat.note('5. A shell asks Career and gets its reply: tieline ask career "How many offers are open?"')
        chat.line(await self._tieline("ask", "career", "How many offers are open?"))
        handoff = await chat.seen("front-desk", "→ career")
        chat.note(f"The story of the first handoff, as `tieline trace {handoff.message}` tells it:")
        await self._trace(handoff.message or "")

    async def converse(self) -> None:
        """Lets a person type into the topics until the end of input."""
        topic = next(iter(PERSONAS))
        self._chat.note(
            f"Your turn: what you type goes to {topic}. `@career` goes on in another topic, `@career TEXT` hands "
            "that on from where you are, `[Go on]` presses that button, /help lists the commands, Ctrl-D ends. Write "
            "`trip`, and Travel has your approval asked for: `@travel`, then `[Approve once]`; /policy there tells who "
            "may do what."
        )
        while line := await asyncio.to_thread(sys.stdin.readline):
            if sys.stdin.isatty() and sys.stdout.isatty():
                print(_WIPE_TYPED, end="", flush=True)  # it is shown again, in its topic
            text = line.strip()
            if text.startswith("@") and " " not in text:  # with a text it is a mention, as in any chat
                if text[1:] not in PERSONAS:
                    self._chat.note(f"There is no topic {text[1:41]!a} here, but {', '.join(PERSONAS)}.")
                    continue
                topic = text[1:]
                self._chat.note(f"What you type goes to {topic} now.")
            elif text.startswith("["):
                if not await self._chat.press(self._exchange.inbound, topic, text.strip("[]")):
                    self._chat.note(f"There is no such button in {topic}.")
            elif text.strip():
                await self._say(topic, text.strip())

    async def _say(self, topic: str, text: str) -> None:
        await self._chat.say(self._exchange.inbound, topic, text)

    async def _trace(self, ident: str) -> None:
        person = await self._exchange.caller(None, origin=Origin.USER, bound=None)
        steps = [StepShown.of(step).model_dump() for step in await self._exchange.trace(person, ident)]
        for line in aligned(list(reading.trace(steps))):
            self._chat.line(line)

    async def _tieline(self, *arguments: str) -> str:
        process = await asyncio.create_subprocess_exec(
            *_TIELINE,
            *arguments,
            env=self._environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        if process.returncode:
            raise _NotPlayed(f"tieline {arguments[0]} ended with {process.returncode}: {err.decode().strip()}")
        return out.decode().rstrip()
