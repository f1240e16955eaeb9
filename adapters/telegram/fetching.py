"""Fetches what people send from Telegram, and keeps it before the message that it came with counts as handled."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from urllib.parse import quote

from telegram import File
from telegram.error import BadRequest, Forbidden, RetryAfter, TelegramError

from adapters.telegram.incoming import Said
from adapters.telegram.limiter import seconds_of
from adapters.telegram.media import Media
from adapters.telegram.wire import Bot
from bridge.backoff import FullJitter
from bridge.message import Attachment
from bridge.ports.chat import Heard
from bridge.ports.clock import Clock, Randomness
from bridge.ports.files import Files, Stored

_LOG = logging.getLogger(__name__)

MOST_DOWN = 20 * 1024 * 1024
"""In bytes. Telegram itself gives bots no larger files; a Bot API server of one's own gives all."""
_PATIENCE_S = 90.0
MOST_REPLIED = 5 * 1024 * 1024
"""Of a file that is only replied to: nobody has just sent it, and waits for it as long."""
_PATIENCE_REPLIED_S = 10.0


@dataclass(slots=True)
class _Patience:
    """How much longer somebody waits for what was sent. It passes by what is waited, not by the time of day."""

    left_s: float


class Fetching:
    def __init__(self, bot: Bot, token: str, files: Files | None, clock: Clock, randomness: Randomness) -> None:
        self._bot = bot
        self._token = token
        self._files = files
        self._clock = clock
        self._jitter = FullJitter(randomness, first_s=0.5, cap_s=15)

    async def heard(self, parts: Sequence[Said]) -> list[Heard]:
        """With their files at hand; and of those that cannot be had why. All of them together are waited for no longer
        than one."""
        sent, replied = _Patience(_PATIENCE_S), _Patience(_PATIENCE_REPLIED_S)
        return [await self._heard(part, sent, replied) for part in parts]

    async def _heard(self, said: Said, sent: _Patience, replied: _Patience) -> Heard:
        heard = said.heard
        for media in (*said.media, *([said.replied] if said.replied is not None else [])):
            try:
                if media is said.replied and media.size > MOST_REPLIED:
                    raise _NotHad("you only reply to it, and it is large. Send or forward it, if it is to be read.")
                stored = await self._stored(media, sent if media is not said.replied else replied)
            except _NotHad as why:
                heard = replace(heard, missing=(*heard.missing, f"{media.name} did not come through: {why}"))
            else:
                file = Attachment(media.name, media.mime, stored.path, size=stored.size)
                heard = replace(heard, attachments=(*heard.attachments, file))
        return heard

    async def _stored(self, media: Media, patience: _Patience) -> Stored:
        """What was sent once and is replied to is there already."""
        key = f"{media.message}_{media.unique}"
        if self._files is None:
            raise _NotHad("this bridge keeps no files.")
        try:
            return await self._files.found(key) or await self._fetched(media, key, self._files, patience)
        except OSError as error:
            _LOG.error("A file that was sent to the bot cannot be kept: %s", error)
            raise _NotHad("the bridge could not store it. See whether its disk is full, then send it again.") from error

    async def _fetched(self, media: Media, key: str, files: Files, patience: _Patience) -> Stored:
        """Tries again while that may help; but whoever sent it does not wait for ever."""
        for attempt in count(1):
            began = self._clock.now()
            try:
                file = await self._bot.get_file(media.id)
                return await self._kept(file, media, key, files)
            except (BadRequest, Forbidden) as error:
                raise _NotHad(_told(error, media)) from error
            except TelegramError as error:
                wait_s = seconds_of(error) if isinstance(error, RetryAfter) else self._jitter.after(attempt)
                patience.left_s -= wait_s + max(0.0, self._clock.now() - began)
                if patience.left_s < 0:
                    raise _NotHad(
                        f"Telegram does not give it out now ({error.message}). Send it again later."
                    ) from error
                await self._clock.sleep(wait_s)
        raise AssertionError

    async def _kept(self, file: File, media: Media, key: str, files: Files) -> Stored:
        path = (file.file_path or "").removeprefix(f"{self._bot.base_file_url}/")  # the library puts it before most
        if path.startswith("/"):
            return await files.copy(key, media.name, await asyncio.to_thread(_own, path, self._token))
        data = await self._bot.request.retrieve(f"{self._bot.base_file_url}/{quote(path)}")
        return await files.keep(key, media.name, data)


def _own(path: str, token: str) -> str:
    """A Bot API server of one's own has its files on its disk, those of each bot in a folder that is called by its
    token. Nothing else on this machine is for it to give out. Raises `_NotHad`."""
    try:
        real = Path(path).resolve(strict=True)
        if not {token, f"{token}:T"}.isdisjoint(real.parts) and real.is_file():
            with real.open("rb"):
                return str(real)
    except (FileNotFoundError, NotADirectoryError):
        raise _NotHad("the Bot API server has it on another machine. Run it without --local, or here.") from None
    except OSError as error:
        why = f"the bridge may not read it where the Bot API server keeps it ({error.strerror})."
        raise _NotHad(f"{why} Let its user read there, or run the server without --local.") from None
    _LOG.error("The Bot API server gives out %s, which is no file of its own", path)
    raise _NotHad("the Bot API server gives out a file that is not of this bot.")


class _NotHad(Exception):
    """Why a file is not there, and what to do."""


def _told(error: BadRequest | Forbidden, media: Media) -> str:
    if "too big" in error.message.lower() or media.size > MOST_DOWN:
        size = f" ({media.size // 2**20} MB)" if media.size else ""
        return (
            f"it is too large{size}: Telegram gives bots at most 20 MB. Send it smaller or in parts, or put it where "
            "the agent can read it and say where; a Bot API server of your own (telegram.base_url) lifts that."
        )
    return f"Telegram does not give it out ({error.message}). Send it again."
