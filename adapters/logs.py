"""Logging: to `logs/bridge.log` (0600) and to stderr, without secrets.

Redaction is done on the whole line, traceback included, in the last step before it is written.
"""

import json
import logging
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import TracebackType
from typing import TextIO

from bridge.errors import Code, Refused
from bridge.redaction import Redaction

_UNSEEN = {code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}
_CHATTY = ("httpx", "httpcore", "aiosqlite", "uvicorn.access")
_MEBIBYTE = 1 << 20

log = logging.getLogger("tieline")


class Redactor(logging.Filter):
    """Removes known shapes of secrets, and the exact ones that it was told of."""

    def __init__(self) -> None:
        super().__init__()
        self._redaction = Redaction()

    def hide(self, secret: str) -> None:
        """From now on `secret` is in no line."""
        self._redaction.hide(secret)

    def redacted(self, text: str) -> str:
        return self._redaction.redacted(text)

    def filter(self, record: logging.LogRecord) -> bool:
        """Renders the record here, once, so that no handler after this one sees a secret."""
        record.msg, record.args = self.redacted(_message(record)), None
        if record.exc_info:
            record.exc_text = self.redacted(_traceback.formatException(record.exc_info))
            record.exc_info = None
        if record.stack_info:
            record.stack_info = self.redacted(record.stack_info)
        return True


_traceback = logging.Formatter()


def _message(record: logging.LogRecord) -> str:
    try:
        return record.getMessage()
    except (TypeError, ValueError, KeyError):  # a wrong call of a logger must not fail its caller
        return f"{record.msg} (its arguments do not fit)"


class Plain(logging.Formatter):
    """A line for people; control characters are made visible."""

    def format(self, record: logging.LogRecord) -> str:
        line = f"{_time(record)} {record.levelname.lower():8}{record.name}: {record.getMessage()}"
        details = [each for each in (record.exc_text, record.stack_info) if each]
        return "\n".join([line.replace("\n", "\\n"), *details]).translate(_UNSEEN)


class Json(logging.Formatter):
    """One object a line."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "at": _time(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_text:
            line["traceback"] = record.exc_text
        return json.dumps(line, ensure_ascii=False)


class _PrivateFile(RotatingFileHandler):
    """A log that only its owner can read, from the instant in which it is made."""

    def _open(self) -> TextIOWrapper:
        return TextIOWrapper(open(self.baseFilename, "ab", opener=_private), encoding=self.encoding)

    def handleError(self, record: logging.LogRecord) -> None:
        """A full disk takes no log; what it would say is on stderr all the same."""


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _time(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@contextmanager
def logging_to(
    home: Path, *, as_json: bool = False, level: int = logging.INFO, stderr: TextIO | None = None
) -> Iterator[Redactor]:
    """Logs until the end of the block, uncaught exceptions too. Tell the redactor every secret that is known.

    Raises `Refused(unavailable)` where there can be no log.
    """
    redactor = Redactor()
    form = Json() if as_json else Plain()
    file = _file(home / "logs")
    handlers: list[logging.Handler] = [file, logging.StreamHandler(stderr)]
    root = logging.getLogger()
    levels = {root: root.level, **{each: each.level for each in map(logging.getLogger, _CHATTY)}}
    for handler in handlers:
        handler.addFilter(redactor)
        handler.setFormatter(form)
        root.addHandler(handler)
    root.setLevel(level)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(logging.WARNING)
    hook, sys.excepthook = sys.excepthook, _uncaught
    try:
        yield redactor
    finally:
        sys.excepthook = hook
        for logger, before in levels.items():
            logger.setLevel(before)
        for handler in handlers:
            root.removeHandler(handler)
            with suppress(OSError):  # what a full disk did not take
                handler.close()


def _file(folder: Path) -> _PrivateFile:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return _PrivateFile(folder / "bridge.log", maxBytes=10 * _MEBIBYTE, backupCount=3, encoding="utf-8")
    except OSError as error:
        reason = f"there can be no log in {folder}: {error}"
        raise Refused(Code.UNAVAILABLE, reason, remedy="Check the folder, its owner and the disk.") from error


def _uncaught(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
    if issubclass(kind, KeyboardInterrupt):
        return
    log.critical("the bridge ends by an error that nothing expected", exc_info=(kind, error, traceback))
