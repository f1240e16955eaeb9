"""What is secret, where it is kept in a file of its own: the token of the Telegram bot, and its webhook's secret."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from adapters.settings.explain import dotted
from adapters.settings.home import SETTINGS_FILE, expanded
from adapters.settings.problems import Problem
from adapters.settings.schema import SECRET
from adapters.settings.sources import Key, Sources

_TOKEN: Key = ("telegram", "token")
_WEBHOOK: Key = ("telegram", "webhook", "secret")


@dataclass(frozen=True, slots=True)
class Secrets:
    """None where no file is named, or where the value itself is set; or what is wrong with the file."""

    token: str | Problem | None = None
    webhook: str | Problem | None = None


def secrets_from_files(sources: Sources, home: Path, environ: Mapping[str, str]) -> Secrets:
    token = _content(sources, _TOKEN, home, environ, "write the bot's token into it, and nothing else")
    remedy = "write 1 to 256 of A-Z, a-z, 0-9, _ and - into it, and nothing else"
    secret = _content(sources, _WEBHOOK, home, environ, remedy)
    if isinstance(secret, str) and not SECRET.match(secret):
        secret = _problem(sources, _WEBHOOK, "holds no secret that Telegram takes", remedy)
    return Secrets(token, secret)


def secret_paths(sources: Sources, home: Path, environ: Mapping[str, str]) -> list[Path]:
    """The files that hold secrets, the settings among them where they do."""
    named = [path for value in (_TOKEN, _WEBHOOK) if (path := _path(sources, value, home, environ)) is not None]
    in_settings = any(sources.line(*value) is not None for value in (_TOKEN, _WEBHOOK))
    return [*named, *([home / SETTINGS_FILE] if in_settings else [])]


def file_of(value: Key) -> Key:
    """The setting that names the file of another one."""
    return *value[:-1], f"{value[-1]}_file"


def _path(sources: Sources, value: Key, home: Path, environ: Mapping[str, str]) -> Path | None:
    """A relative one is in the home."""
    name = sources.get(*file_of(value))
    return home / expanded(name, environ) if isinstance(name, str) else None


def _content(sources: Sources, value: Key, home: Path, environ: Mapping[str, str], remedy: str) -> str | Problem | None:
    path = _path(sources, value, home, environ)
    if path is None or sources.get(*value) is not None:
        return None
    try:
        content = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        return _problem(sources, value, f"cannot be read: {path} ({error.strerror})", remedy)
    except UnicodeDecodeError:
        return _problem(sources, value, f"is no text: {path}", remedy)
    if not content or not content.isprintable() or " " in content:
        return _problem(sources, value, f"holds no {value[-1]}: {path}", remedy)
    return content


def _problem(sources: Sources, value: Key, what: str, remedy: str) -> Problem:
    named = file_of(value)
    return Problem(sources.where(*named), f"{dotted(named)} {what}", remedy)
