"""What must outlive the gateway's process: the turns that it has begun for the bridge, and what it has shown."""

import json
import os
import threading
from pathlib import Path
from typing import Any

_SHOWN_KEPT = 500


class Journal:
    """A JSON file, replaced as a whole. `turns` are by the bridge's name of each, until the bridge has their end."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self.turns: dict[str, dict[str, Any]] = {}
        self.shown: dict[str, str] = {}
        try:
            kept = json.loads(path.read_text())
            self.turns, self.shown = dict(kept["turns"]), dict(kept["shown"])
        except (OSError, ValueError, KeyError, TypeError):
            pass

    def put(self, turn: str, **fields: Any) -> None:
        with self._lock:
            self.turns[turn] = {**self.turns.get(turn, {}), **fields}
            self._write()

    def drop(self, turn: str) -> None:
        with self._lock:
            if self.turns.pop(turn, None) is not None:
                self._write()

    def show(self, post: str, receipt: str) -> None:
        with self._lock:
            self.shown[post] = receipt
            while len(self.shown) > _SHOWN_KEPT:
                del self.shown[next(iter(self.shown))]
            self._write()

    def _write(self) -> None:
        """Durable before it returns: what has begun must be known after a power cut, too."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        new = self._path.with_suffix(".new")
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as file:
            json.dump({"turns": self.turns, "shown": self.shown}, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(new, self._path)
