"""The home directory: where one bridge keeps its settings, store, socket and logs."""

from collections.abc import Mapping
from pathlib import Path

SETTINGS_FILE = "tieline.toml"
DATABASE = "tieline.db"
BALLAST = "ballast"
FILES = "files"
LOCK = "tieline.lock"


def home_of(environ: Mapping[str, str]) -> Path:
    """`TIELINE_HOME`, else `~/.tieline`; always absolute."""
    return expanded(environ.get("TIELINE_HOME") or "~/.tieline", environ).absolute()


def prepare(home: Path) -> None:
    """Makes the home, and closes it to everybody but its owner. Raises `OSError`."""
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    if home.stat().st_mode & 0o077:
        home.chmod(0o700)


def expanded(path: str, environ: Mapping[str, str]) -> Path:
    """`path` with a leading `~` replaced by the home of the person, as the given environment has it."""
    if environ.get("HOME") and (path == "~" or path.startswith("~/")):
        return Path(environ["HOME"], path[2:])
    return Path(path).expanduser()
