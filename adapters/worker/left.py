"""What an agent's tools have left running, in a process session of their own: listed for the next turn (DESIGN §8)."""

import json
import os
from collections.abc import Iterable
from contextlib import suppress

from adapters.process import birth_of, name_of
from adapters.worker.codec import Malformed, as_json, read
from adapters.worker.folder import Folder
from bridge.ports.runtime import Left
from bridge.turn import Process

MOST = 20
_LONGEST = 64 << 10


def note(folder: Folder, session: str, processes: Iterable[Process]) -> None:
    """Adds them to the session's list. A disk that takes none loses the list, and nothing else."""
    alive = [one for one in processes if birth_of(one.pid) == one.birth]
    found = dict.fromkeys([*(one.process for one in still_running(folder, session)), *alive])
    path = folder.left(session)
    with suppress(OSError):
        if not found:
            path.unlink(missing_ok=True)
            return
        folder.make()
        part = path.with_suffix(".part")
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump([as_json(one) for one in list(found)[-MOST:]], file)
        part.replace(path)


def still_running(folder: Folder, session: str) -> list[Left]:
    """Of the session's list, what lives, under the names that the kernel has for it."""
    try:
        with folder.left(session).open() as file:
            every = [read(Process, one) for one in json.loads(file.read(_LONGEST))]
    except (OSError, ValueError, TypeError, RecursionError, Malformed):
        return []
    alive = [one for one in every if birth_of(one.pid) == one.birth]
    return [Left(one, name_of(one.pid)) for one in alive[-MOST:]]
