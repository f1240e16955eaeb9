"""The token of the Telegram bot, where it is kept in a file of its own."""

from collections.abc import Mapping
from pathlib import Path

from adapters.settings.home import expanded
from adapters.settings.problems import Problem
from adapters.settings.sources import Sources


def token_from_file(sources: Sources, home: Path, environ: Mapping[str, str]) -> str | Problem | None:
    """None where no file is named, or where `token` itself is set. A relative path is one in the home."""
    name = sources.get("telegram", "token_file")
    if not isinstance(name, str) or sources.get("telegram", "token") is not None:
        return None
    path = home / expanded(name, environ)
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
