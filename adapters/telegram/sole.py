"""One poller a bot: Telegram gives an update to whoever asks first, so that of two bridges each would get a part."""

import hashlib
import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from adapters.telegram.config import TelegramConfig


class PolledElsewhere(Exception):
    """Somebody else polls this bot. As text it says who, and what to do."""


Claim = Callable[[], AbstractContextManager[None]]
"""Gives the sole right to poll, for as long as the context is open. Entering it raises `PolledElsewhere`."""


def lock_file(config: TelegramConfig, environ: Mapping[str, str]) -> Path:
    """What whoever polls this bot has locked: the same file for all homes of one user. Raises `OSError` where there
    is no folder for it that is the user's alone."""
    bot = hashlib.sha256(f"{config.base_url}\n{config.token}".encode()).hexdigest()[:32]
    folder = _folder(environ)
    folder.mkdir(mode=0o700, exist_ok=True)
    status = folder.lstat()
    if status.st_uid != os.geteuid() or status.st_mode & 0o077:
        raise PermissionError(f"{folder} is not this user's alone")
    return folder / f"bot-{bot}.lock"


def _folder(environ: Mapping[str, str]) -> Path:
    """A service and a login of one user agree on it, whichever of them has the variable."""
    for each in (environ.get("XDG_RUNTIME_DIR"), f"/run/user/{os.geteuid()}"):
        if each and Path(each).is_dir():
            return Path(each, "tieline")
    return Path(tempfile.gettempdir(), f"tieline-{os.geteuid()}")
