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

_MOST = 20


def note(folder: Folder, session: str, processes: Iterable[Process]) -> None:
    """Adds them to the session's list. A disk that takes none loses the list, and nothing else."""
    found = {one.process: one for one in still_running(folder, session)}
    for process in processes:
        if birth_of(process.pid) == process.birth:
            found.setdefault(process, Left(process, name_of(process.pid)))
    path = folder.left(session)
    with suppress(OSError):
        if not found:
            path.unlink(missing_ok=True)
            return
        folder.make()
        part = path.with_suffix(".part")
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump([as_json(one) for one in list(found.values())[-_MOST:]], file)
        part.replace(path)


def still_running(folder: Folder, session: str) -> list[Left]:
    """Of the session's list, what lives."""
    try:
        listed = json.loads(folder.left(session).read_text())
        every = [read(Left, one) for one in listed]
    except (OSError, ValueError, TypeError, Malformed):
        return []
    return [one for one in every if birth_of(one.process.pid) == one.process.birth]
