"""Files that come before the first prompt of a context: read within the working directory, and in bounds."""

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass

from adapters.acp.failures import failure
from bridge.ports.runtime import StartFailed
from bridge.turn import FailureKind

MOST_BYTES = 256 * 2**10
MOST_IN_ALL = 2**20


@dataclass(frozen=True, slots=True)
class Preloaded:
    path: str
    text: str


def preloaded(cwd: str, paths: Sequence[str]) -> list[Preloaded]:
    """Raises `StartFailed` for the first that is not there, leads out of the directory, or is no text of that size."""
    read, room = [], MOST_IN_ALL
    for path in paths:
        try:
            data = _read(cwd, path)
            room -= len(data)
            read.append(Preloaded(os.path.join(os.path.realpath(cwd), path), data.decode()))
        except UnicodeDecodeError:
            raise _wrong(path, "is no UTF-8 text") from None
        except OSError as error:
            raise _wrong(path, f"cannot be read: {error.strerror}") from None
        if room < 0:
            raise _wrong(path, f"makes more than {MOST_IN_ALL} bytes of them all")
    return read


def _read(cwd: str, path: str) -> bytes:
    within = os.path.realpath(cwd)
    real = os.path.realpath(os.path.join(within, path), strict=True)
    if os.path.commonpath([within, real]) != within:
        raise OSError(errno.EACCES, "it leads out of the working directory")
    # A FIFO must hold nobody up, and what has become a link since leads nowhere.
    with open(os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is no file")
        if os.path.realpath(real) != real or not os.path.samestat(os.stat(real), found):
            raise OSError(errno.EACCES, "it was moved meanwhile")
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise OSError(errno.EFBIG, f"it has more than {MOST_BYTES} bytes")
    return data


def _wrong(path: str, what: str) -> StartFailed:
    return StartFailed(failure(FailureKind.CONFIG, f"The file {path!r}, which is to be preloaded, {what}."))
