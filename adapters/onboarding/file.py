"""What a setup leaves: `tieline.toml`, and the bot's token in a file of its own."""

import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from adapters.acp.presets import PRESETS
from adapters.cli.plain import one_line
from adapters.onboarding.hearing import Somebody
from adapters.onboarding.progress import Ground, Topic, put
from adapters.settings.home import SETTINGS_FILE, prepare
from adapters.settings.load import drafted
from adapters.telegram.config import BASE_URL
from adapters.telegram.place import Spot
from bridge.ids import SHELL

TOKEN_FILE = "telegram.token"
_LONGEST = 40
_COLUMN = 35


@dataclass(frozen=True, slots=True)
class Desk:
    """One session of the file: the topic that it answers in, and by which agent."""

    handle: str
    topic: Topic
    agent: str

    def place(self, ground: Ground) -> str:
        return Spot(ground.id, self.topic.thread).place


@dataclass(frozen=True, slots=True)
class Office:
    """All that the file says. The first desk may hand work to the others."""

    operator: Somebody
    ground: Ground
    desks: tuple[Desk, ...]
    base_url: str = BASE_URL


def handles(titles: Sequence[str]) -> list[str]:
    """A name for each that a file can hold, none twice."""
    found: list[str] = []
    for number, title in enumerate(titles, 1):
        name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:_LONGEST].rstrip("-")
        found.append(name if name and name != SHELL and name not in found else f"topic-{number}")
    return found


def text_of(office: Office, token_file: str) -> str:
    return "\n".join(_lines(office, token_file)) + "\n"


def _lines(office: Office, token_file: str) -> Iterator[str]:
    first, *others = office.desks
    yield "# Written by `tieline init`. Change what you like: a running bridge reads it again by itself."
    yield "# deploy/tieline.example.toml explains every setting, and `tieline doctor` looks whether all is well."
    yield ""
    yield "[telegram]"
    yield _told(f"token_file = {_quoted(token_file)}", "in this folder, with nothing but the token")
    if office.base_url != BASE_URL:
        yield f"base_url = {_quoted(office.base_url)}"
    yield _told(f"operators = [{office.operator.id}]", f"{office.operator.name}: may approve, stop and bind")
    yield _told("users = []", "further people who may talk")
    if office.ground.private:
        yield _told("chats = []", "groups; in private chats operators and users are heard anyway")
    else:
        yield _told(f"chats = [{office.ground.id}]", f"{office.ground.title}; nobody is answered in another group")
    for agent in dict.fromkeys(desk.agent for desk in office.desks):
        yield ""
        yield f"[agents.{agent}]"
        yield _told(f'preset = "{agent}"', ", ".join(sorted(PRESETS)))
        yield _told('# env_pass = ["NAME"]', "what it needs of your environment, beside what its preset has")
    for desk in office.desks:
        yield ""
        yield f"[sessions.{desk.handle}]"
        yield f'agent = "{desk.agent}"'
        yield _told(f"title = {_quoted(desk.topic.title)}", "what people see; the handle in brackets is for ever")
        yield f"places = [{_quoted(desk.place(office.ground))}]"
        yield _told(f'# cwd = "~/{desk.handle}"', "where it works; your home, if left out")
    yield ""
    yield "# Nothing is allowed without a rule; you yourself need none."
    names = " and ".join(desk.topic.title for desk in others)
    yield _told("[[policy.rules]]", f"{first.topic.title} may hand work to {names}")
    yield f'from = "default/{first.handle}"'
    yield f"to = {json.dumps([f'default/{desk.handle}' for desk in others])}"
    yield 'verbs = ["discover", "send", "ask", "wake"]'
    yield _told('effect = "allow"', '"ask": you decide about each')


def _told(line: str, remark: str) -> str:
    """A remark beside what it is about. Names in it are a stranger's."""
    return f"{line.ljust(_COLUMN)} # {one_line(remark)}"


def _quoted(text: str) -> str:
    """Of text in one line, without control characters."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def write(home: Path, office: Office, token: str, environ: Mapping[str, str]) -> Path | None:
    """Puts the file there, once our own loader takes it; in one step, at which everything before it is as it was.

    Returns where an earlier one has gone. Raises `SettingsError`, with nothing changed, and `OSError`."""
    prepare(home)
    where = _for_token(home, token)
    text = text_of(office, where.name)
    draft = home / f".{SETTINGS_FILE}.draft"
    try:
        put(draft, text)
        drafted(draft, environ)
    finally:
        with suppress(OSError):
            draft.unlink()
    put(where, f"{token}\n")
    target, backup = home / SETTINGS_FILE, None
    if target.exists():
        backup = _unused(home / f"{SETTINGS_FILE}.{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}")
        put(backup, target.read_bytes())
    put(target, text)
    return backup


def _for_token(home: Path, token: str) -> Path:
    """An earlier token stays where the file that is still in force finds it."""
    path = home / TOKEN_FILE
    try:
        same = path.read_text(encoding="utf-8").strip() == token
    except FileNotFoundError:
        same = True
    except (OSError, UnicodeDecodeError):
        same = False
    return path if same else home / f"telegram-{token.partition(':')[0]}.token"


def _unused(path: Path) -> Path:
    return next(
        one
        for number in range(1000)
        if not (one := path.with_name(f"{path.name}.{number}") if number else path).exists()
    )
