"""The first step: a bot that answers, and that nobody else has."""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from adapters.onboarding.hearing import shown
from adapters.onboarding.progress import Progress
from adapters.onboarding.visit import Bot, Means, Visit, hopeless, noted
from adapters.sole_poller import sole_poller
from adapters.telegram.asking import Asking, Unanswered, Why
from adapters.telegram.config import TelegramConfig
from adapters.telegram.sole import PolledElsewhere
from bridge.errors import Code, Refused

VARIABLE = "TIELINE_TELEGRAM__TOKEN"
_TOKEN = re.compile(r"[0-9]{3,20}:[A-Za-z0-9_-]{20,100}")
_AGAIN_S = 5.0


def well_formed(token: str) -> bool:
    return _TOKEN.fullmatch(token) is not None


def from_file(path: str) -> str:
    """Raises `Refused`."""
    try:
        return Path(path).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = f"{path} cannot be read ({getattr(error, 'strerror', None) or 'it is no text'})"
        raise Refused(Code.INVALID_REQUEST, reason, remedy="Name a file with the token, and nothing else.") from None


@asynccontextmanager
async def chosen(means: Means, base_url: str, token_file: str | None) -> AsyncIterator[Visit]:
    """A bot, which no other home of this user polls until the context is left."""
    console = means.console
    offered = list(_offered(means, base_url, token_file))
    if not offered:
        console.say("In Telegram, open @BotFather (https://t.me/BotFather) and send /newbot. It asks for a name and a")
        console.say("username, and then gives you a token. A bot that nothing else uses will do, too: /mybots.")
    while True:
        where, token = (
            offered.pop(0) if offered else ("", await console.secret("Its token (not shown as you paste it)"))
        )
        if where and where == _EARLIER and not await console.yes("Go on with the bot of the last time?", default=True):
            continue
        if not well_formed(token):
            console.say(f"{where or 'That'} is no token: it has digits, a colon and 35 letters, like 123456789:AAF….")
            continue
        config = TelegramConfig(token, base_url)
        async with AsyncExitStack() as open_:
            asking = await open_.enter_async_context(Asking(config))
            bot = await _bot(means, asking, where)
            if bot is None:
                continue
            await _claimed(means, config, open_)
            kept = token == means.known.token and base_url == means.known.base_url
            progress = means.known if kept else Progress(token, base_url)
            visit = Visit(means, bot, asking, progress)
            await visit.without_webhook()
            noted(means, progress)
            console.say(f"✓ {bot} answers.")
            yield visit
            return


_EARLIER = "What was noted the last time"


def _offered(means: Means, base_url: str, token_file: str | None) -> Iterator[tuple[str, str]]:
    """Tokens that are there already, each with what is to be said of it."""
    if token_file is not None:
        yield token_file, from_file(token_file)
    elif means.environ.get(VARIABLE):
        yield VARIABLE, means.environ[VARIABLE].strip()
    elif means.known.token and means.known.base_url == base_url:
        yield _EARLIER, means.known.token


async def _bot(means: Means, asking: Asking, where: str) -> Bot | None:
    """None where Telegram refuses the token. While Telegram is away, it is asked again."""
    console = means.console
    while True:
        try:
            return _read(await asking.ask("getMe"))
        except Unanswered as error:
            if error.why is Why.TOKEN:
                console.say(f"Telegram refuses {where or 'that token'}: BotFather gave another one.")
                console.say("It shows it again: /mybots, the bot, API Token. Copy it whole.")
                return None
            if error.why is Why.NO_API:
                raise hopeless(error) from None
            console.say(f"{error.reason[0].upper()}{error.reason[1:]}. Is the network there?")
            await console.waiting("trying again soon; Enter: now", means.clock.sleep(max(_AGAIN_S, error.after_s)))


def _read(me: Any) -> Bot:
    try:
        return Bot(
            int(me["id"]),
            str(me["username"]),
            shown(str(me["first_name"])),
            bool(me.get("can_read_all_group_messages")),
            bool(me.get("has_topics_enabled")),
            bool(me.get("can_join_groups", True)),
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        raise Unanswered(Why.NO_API, "what answers there is no Bot API") from None


async def _claimed(means: Means, config: TelegramConfig, open_: AsyncExitStack) -> None:
    while True:
        try:
            open_.enter_context(sole_poller(config, means.home, means.environ))
        except PolledElsewhere as other:
            means.console.say(f"{other}.")
            await means.console.pause("Once it has stopped")
        else:
            return
