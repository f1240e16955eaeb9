"""The histories of contexts: the updates of each, as session/load replays them."""

import json
import os

Update = dict[str, object]


class Histories:
    """Kept in memory, and as one file a context in `folder` where one is given: what was added is in the file, even
    if the process is killed at once. With `ended_only`, what a prompt adds is kept once it has ended."""

    def __init__(self, folder: str | None, *, ended_only: bool = False) -> None:
        self._folder = folder
        self._ended_only = ended_only
        self._known: dict[str, list[Update]] = {}
        self._unkept: dict[str, list[Update]] = {}
        if folder:
            os.makedirs(folder, exist_ok=True)

    def new(self) -> str:
        session = f"scripted-{os.urandom(6).hex()}"
        self._known[session] = []
        if self._folder:
            with open(self._path(session), "w", encoding="utf-8"):
                pass
        return session

    def copy(self, session: str) -> str:
        """A new context that knows what `session` does by now."""
        copied = self.new()
        for update in self.load(session) or []:
            self._keep(copied, update)
        return copied

    def load(self, session: str) -> list[Update] | None:
        """The history of `session`, or None where it is not known."""
        if session not in self._known and self._folder and "/" not in session and os.path.exists(self._path(session)):
            with open(self._path(session), encoding="utf-8") as file:
                self._known[session] = [json.loads(line) for line in file]
        return self._known.get(session)

    def add(self, session: str, update: Update) -> None:
        if self._ended_only:
            self._unkept.setdefault(session, []).append(update)
        else:
            self._keep(session, update)

    def ended(self, session: str) -> None:
        """A prompt has come to its end."""
        for update in self._unkept.pop(session, []):
            self._keep(session, update)

    def _keep(self, session: str, update: Update) -> None:
        self._known[session].append(update)
        if self._folder:
            with open(self._path(session), "a", encoding="utf-8") as file:
                file.write(json.dumps(update) + "\n")

    def _path(self, session: str) -> str:
        return os.path.join(str(self._folder), f"{session}.jsonl")
