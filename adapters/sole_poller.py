"""The right to poll a bot, among all homes of one user."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

from adapters.sqlite.lock import FileLock, Locked
from adapters.telegram.config import TelegramConfig
from adapters.telegram.sole import PolledElsewhere, lock_file

log = logging.getLogger(__name__)


@contextmanager
def sole_poller(config: TelegramConfig, home: Path, environ: Mapping[str, str]) -> Iterator[None]:
    """Among all homes of this user. Raises `PolledElsewhere`. Without a folder for the lock Telegram itself has to tell
    two pollers apart, which takes it a while."""
    with ExitStack() as held:
        try:
            held.callback(FileLock(lock_file(config, environ), note=str(home)).release)
        except Locked as locked:
            where = f" for {locked.holder.note}" if locked.holder.note else ""
            other = f"{locked.holder} polls this bot already{where}"
            raise PolledElsewhere(f"{other}: stop it, or give this bridge a bot of its own") from None
        except OSError as error:
            log.warning("Nothing keeps another home from polling the same bot: %s", error)
        yield
