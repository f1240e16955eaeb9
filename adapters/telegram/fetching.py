"""Fetches what people send from Telegram, and keeps it before the message that it came with counts as handled."""

import logging
from dataclasses import replace
from itertools import count
from urllib.parse import quote, urlsplit, urlunsplit

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


class Fetching:
    def __init__(self, bot: Bot, files: Files | None, clock: Clock, randomness: Randomness) -> None:
        self._bot = bot
        self._files = files
        self._clock = clock
        self._jitter = FullJitter(randomness, first_s=0.5, cap_s=15)

    async def heard(self, said: Said) -> Heard:
        """With its files at hand; and of those that cannot be had why."""
        heard = said.heard
        for media in (*said.media, *([said.replied] if said.replied is not None else [])):
            try:
                if media is said.replied and media.size > MOST_REPLIED:
                    raise _NotHad("you only reply to it, and it is large. Send or forward it, if it is to be read.")
                patience_s = _PATIENCE_S if media is not said.replied else _PATIENCE_REPLIED_S
                stored = await self._stored(media, patience_s)
            except _NotHad as why:
                heard = replace(heard, missing=(*heard.missing, f"{media.name} did not come through: {why}"))
            else:
                file = Attachment(media.name, media.mime, stored.path, size=stored.size)
                heard = replace(heard, attachments=(*heard.attachments, file))
        return heard

    async def _stored(self, media: Media, patience_s: float) -> Stored:
        """What was sent once and is replied to is there already."""
        key = f"{media.message}_{media.unique}"
        if self._files is None:
            raise _NotHad("this bridge keeps no files.")
        try:
            return await self._files.found(key) or await self._fetched(media, key, self._files, patience_s)
        except OSError as error:
            _LOG.error("A file that was sent to the bot cannot be kept: %s", error)
            raise _NotHad("the bridge could not store it. See whether its disk is full, then send it again.") from error

    async def _fetched(self, media: Media, key: str, files: Files, patience_s: float) -> Stored:
        """Tries again while that may help; but whoever sent it does not wait for ever."""
        until = self._clock.now() + patience_s
        for attempt in count(1):
            try:
                file = await self._bot.get_file(media.id)
                return await self._kept(file, media, key, files)
            except (BadRequest, Forbidden) as error:
                raise _NotHad(_told(error, media)) from error
            except TelegramError as error:
                wait_s = seconds_of(error) if isinstance(error, RetryAfter) else self._jitter.after(attempt)
                if self._clock.now() + wait_s > until:
                    raise _NotHad(
                        f"Telegram does not give it out now ({error.message}). Send it again later."
                    ) from error
                await self._clock.sleep(wait_s)
        raise AssertionError

    async def _kept(self, file: File, media: Media, key: str, files: Files) -> Stored:
        path = file.file_path or ""
        if path.startswith("/"):  # a Bot API server of one's own has it on its disk
            try:
                return await files.copy(key, media.name, path)
            except FileNotFoundError as error:
                raise _NotHad(
                    "the Bot API server has it on another machine. Run it without --local, or here."
                ) from error
        url = urlsplit(path if "://" in path else f"{self._bot.base_file_url}/{path}")
        data = await self._bot.request.retrieve(urlunsplit(url._replace(path=quote(url.path))))
        return await files.keep(key, media.name, data)


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
