"""What agents and bridge have said to each other, as it may be kept: without secrets, paths and what fills pages."""

import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.agents.installed import ROOT
from tests.agents.office import Office

_LONGEST = 400
_MOST_MODELS = 3
_DROPPED = ("available_commands_update",)


def kept(office: Office, folder: Path, scene: str) -> None:
    """Writes a file for each process of each agent."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob(f"{scene}.*"):
        old.unlink()
    for handle in office.members:
        for number, frames in enumerate(office.frames(handle), 1):
            lines = [json.dumps(_shown(one, office), separators=(",", ":")) for one in frames if not _dropped(one)]
            (folder / f"{scene}.{handle}.{number}.jsonl").write_text("\n".join(lines) + "\n")


def _dropped(one: Any) -> bool:
    update = one["frame"].get("params", {}).get("update", {})
    return update.get("sessionUpdate") in _DROPPED


def _shown(value: Any, office: Office) -> Any:
    match value:
        case {"name": str(name), "value": str()}:
            return {"name": name, "value": "redacted"}
        case dict():
            return {name: _shown(_fewer(name, one), office) for name, one in value.items()}
        case list():
            return [_shown(one, office) for one in value]
        case str():
            for path, name in _names(office):
                value = value.replace(path, name)
            return value if len(value) <= _LONGEST else f"{value[:_LONGEST]}…"
    return value


def _fewer(name: str, value: Any) -> Any:
    return value[:_MOST_MODELS] if name == "availableModels" else value


def _names(office: Office) -> list[tuple[str, str]]:
    return [
        (str(office.home.path), "/home/user"),
        (office.provider.url, "http://127.0.0.1:1"),
        (sys.executable, "python"),
        (os.path.realpath(ROOT), "/opt/agents"),
        (str(ROOT), "/opt/agents"),
        (str(Path(__file__).parents[2]), "/opt/tieline"),
    ]
