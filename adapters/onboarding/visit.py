"""What every step of a setup has at hand."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from adapters.onboarding.console import Console
from adapters.onboarding.ear import Ear, Update
from adapters.onboarding.hearing import Event
from adapters.onboarding.progress import Notebook, Progress
from adapters.telegram.asking import Asking, Unanswered, Why
from bridge.errors import Code, Refused
from bridge.ports.clock import Clock, Randomness

_T = TypeVar("_T")
_AGAIN_S = 5.0


@dataclass(frozen=True, slots=True)
class Bot:
    """`reads_all`: privacy mode is off. `private_topics`: its private chats have topics."""

    id: int
    username: str
    name: str
    reads_all: bool
    private_topics: bool
    joins_groups: bool

    def __str__(self) -> str:
        return f"@{self.username}"


@dataclass(frozen=True, slots=True)
class Means:
    """`known` is what an earlier setup has come to, offered step by step."""

    console: Console
    clock: Clock
    randomness: Randomness
    home: Path
    environ: Mapping[str, str]
    notebook: Notebook
    known: Progress


@dataclass(slots=True)
class Visit:
    """A setup once its bot is there."""

    means: Means
    bot: Bot
    asking: Asking
    progress: Progress
    ear: Ear = field(init=False)

    def __post_init__(self) -> None:
        self.ear = Ear(self.asking, self.means.clock, self.bot.username, self._trouble, self._left)

    @property
    def console(self) -> Console:
        return self.means.console

    def note(self, progress: Progress) -> None:
        """Also for the next attempt, if this one is broken off."""
        self.progress = progress
        noted(self.means, progress)

    async def sure(self, method: str, **fields: object) -> Any:
        """The answer to what may be asked twice: while Telegram is away, it is asked again.

        Raises `Unanswered` where Telegram says no, and `Refused` where there is no going on."""
        while True:
            try:
                return await self.asking.ask(method, **fields)
            except Unanswered as error:
                await self.settle(error)

    async def settle(self, error: Unanswered) -> None:
        """Waits where waiting helps; else raises."""
        if error.why in (Why.TOKEN, Why.NO_API):
            raise hopeless(error) from None
        if error.why not in (Why.AWAY, Why.UNSURE, Why.FLOOD):
            raise error
        self.console.say(f"{error.reason[0].upper()}{error.reason[1:]}.")
        pause = self.means.clock.sleep(max(_AGAIN_S, error.after_s))
        await self.console.waiting("trying again soon; Enter: now", pause)

    async def hear(self, what: str, pick: Callable[[Event], _T | None], *, within_s: float | None = None) -> _T | None:
        """As `Ear.until`, while `what` is shown. None once Enter was pressed, or the time is over."""

        async def heard() -> _T | None:
            try:
                async with asyncio.timeout(within_s):
                    return await self.ear.until(pick)
            except TimeoutError:
                return None

        while True:
            try:
                return await self.console.waiting(what, heard())
            except Unanswered as error:
                if error.why is not Why.CONFLICT:
                    raise hopeless(error) from None
                await self.alone(error)

    async def alone(self, error: Unanswered) -> None:
        """Until nobody else takes the bot's updates, as far as a person says so."""
        self.console.say(f"What people write to {self.bot} goes elsewhere: {error.reason}.")
        if "webhook" in error.reason:
            await self.without_webhook()
            return
        self.console.say("Stop that program (an older bridge, another machine), or start again with a bot of its own.")
        await self.console.pause("Once it has stopped")

    async def without_webhook(self) -> None:
        """Takes away the webhook that is set, if one is and the person agrees. Raises `Refused`."""
        found = await self.sure("getWebhookInfo")
        url = str(found.get("url") or "") if isinstance(found, dict) else ""
        if not url:
            return
        host = "/".join(url.split("/")[:3])
        self.console.say(f"A webhook is set: what people write to {self.bot} goes to {host}, and to nobody else.")
        if not await self.console.yes("Remove it? That program hears nothing from then on", default=False):
            remedy = "Make another one: @BotFather, /newbot."
            raise Refused(Code.BUSY, f"{self.bot} is another program's", remedy=remedy)
        await self.sure("deleteWebhook")
        self.console.say("✓ The webhook is gone.")

    def _left(self, updates: Sequence[Update]) -> None:
        self.note(replace(self.progress, left=(*self.progress.left, *updates)))

    def _trouble(self, trouble: str) -> None:
        self.console.say(f"{trouble[0].upper()}{trouble[1:]}; it is tried again." if trouble else "✓ Telegram is back.")


def noted(means: Means, progress: Progress) -> None:
    """Raises `Refused` where the home takes nothing."""
    try:
        means.notebook.note(progress)
    except OSError as error:
        reason = f"{means.home} cannot be written to ({error.strerror})"
        raise Refused(Code.UNAVAILABLE, reason, remedy="Set that right, or TIELINE_HOME to another.") from None


def hopeless(error: Unanswered) -> Refused:
    if error.why is Why.TOKEN:
        remedy = "BotFather has given another one since: /mybots, the bot, API Token. Start again with that."
        return Refused(Code.NOT_PERMITTED, "Telegram refuses the token", remedy=remedy)
    remedy = "Start again with the right --base-url, or without one."
    return Refused(Code.INVALID_REQUEST, error.reason, remedy=remedy)
