"""How far a setup has come: kept in the home after each step, so that one that was broken off goes on there."""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from adapters.onboarding.hearing import Somebody
from adapters.settings.home import prepare
from adapters.settings.model import Settings
from adapters.telegram.place import spot

FILE = "init.json"


@dataclass(frozen=True, slots=True)
class Ground:
    """The chat in which the topics are. One that is private has its person's id."""

    id: int
    title: str

    @property
    def private(self) -> bool:
        return self.id > 0


@dataclass(frozen=True, slots=True)
class Topic:
    """`thread` is 0 until it is made."""

    title: str
    thread: int = 0

    @property
    def made(self) -> bool:
        return self.thread > 0


@dataclass(frozen=True, slots=True)
class Progress:
    """`left` are updates of Telegram that wait for the bridge, each with its number."""

    token: str = field(default="", repr=False)
    base_url: str = ""
    operator: Somebody | None = None
    ground: Ground | None = None
    topics: tuple[Topic, ...] = ()
    left: tuple[tuple[int, str], ...] = ()

    def with_topic(self, number: int, topic: Topic) -> "Progress":
        return replace(self, topics=(*self.topics[:number], topic, *self.topics[number + 1 :]))


class Notebook:
    """The file is the user's alone, for the token is in it. It is gone once all is done."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self._path = home / FILE

    def read(self) -> Progress | None:
        """None where nothing is noted, or nothing that makes sense."""
        try:
            noted = json.loads(self._path.read_text(encoding="utf-8"))
            return _progress(noted)
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def note(self, progress: Progress) -> None:
        """Raises `OSError`."""
        prepare(self._home)
        put(self._path, json.dumps(asdict(progress)))

    def close(self) -> None:
        with suppress(OSError):
            self._path.unlink()


def put(path: Path, text: str | bytes) -> None:
    """In the place of what was there: whole, or not at all. It is the user's alone from the beginning (0600)."""
    new = path.with_name(f".{path.name}.new")
    with suppress(FileNotFoundError):
        new.unlink()
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with open(file, "wb") as opened:
            opened.write(text.encode() if isinstance(text, str) else text)
            opened.flush()
            os.fsync(file)
        new.replace(path)
    except BaseException:
        with suppress(OSError):
            new.unlink()
        raise
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def of_settings(settings: Settings) -> Progress | None:
    """What an earlier setup has in its file. Its operator's name is not there."""
    telegram = settings.telegram
    if telegram is None:
        return None
    operator = min(telegram.operators, default=None)
    topics: dict[int, list[Topic]] = {}
    for session in settings.sessions:
        for place in session.places:
            where = spot(place)
            if where is not None and where.thread is not None:
                topics.setdefault(where.chat, []).append(Topic(session.title, where.thread))
    chat, found = next(iter(topics.items()), (None, []))
    return Progress(
        telegram.token,
        telegram.base_url,
        Somebody(operator, "") if operator is not None else None,
        Ground(chat, "") if chat is not None else None,
        tuple(found[:2]),
    )


def _progress(noted: Mapping[str, Any]) -> Progress:
    operator, ground = noted["operator"], noted["ground"]
    return Progress(
        str(noted["token"]),
        str(noted["base_url"]),
        Somebody(int(operator["id"]), str(operator["name"])) if operator else None,
        Ground(int(ground["id"]), str(ground["title"])) if ground else None,
        tuple(Topic(str(each["title"]), int(each["thread"])) for each in noted["topics"]),
        tuple((int(number), str(raw)) for number, raw in noted["left"]),
    )
