"""The token of the Telegram bot, where it is kept in a file of its own."""

from collections.abc import Mapping
from pathlib import Path

from adapters.settings.home import expanded
from adapters.settings.problems import Problem
from adapters.settings.sources import Sources


def token_from_file(sources: Sources, home: Path, environ: Mapping[str, str]) -> str | Problem | None:
    """None where no file is named, or where `token` itself is set."""
    path = token_path(sources, home, environ)
    if path is None or sources.get("telegram", "token") is not None:
        return None
    where = sources.where("telegram", "token_file")
    remedy = "write the bot's token into it, and nothing else"
    try:
        token = path.read_text(encoding="utf-8").strip()
    except OSError as error:
        return Problem(where, f"telegram.token_file cannot be read: {path} ({error.strerror})", remedy)
    except UnicodeDecodeError:
        return Problem(where, f"telegram.token_file is no text: {path}", remedy)
    if not token or not token.isprintable() or " " in token:
        return Problem(where, f"telegram.token_file holds no token: {path}", remedy)
    return token


def token_path(sources: Sources, home: Path, environ: Mapping[str, str]) -> Path | None:
    """The file that is named, if one is. A relative path is one in the home."""
    name = sources.get("telegram", "token_file")
    return home / expanded(name, environ) if isinstance(name, str) else None
