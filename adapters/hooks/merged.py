"""Hooks in a JSON file that is the person's, comments and all: codex and gemini have the same form."""

import json
import shlex
from pathlib import Path
from typing import Any

from adapters.hooks.formats import EVENTS
from adapters.hooks.ground import ByHand, Ground, read
from adapters.hooks.jsonc import Unreadable, add, parsed, taken


def hooks_of(
    ground: Ground, agent: str, events: dict[str, str], timeout: int, farewell: int | None = None
) -> dict[str, Any]:
    """What is put into each event's list: `events` names the event of ours for each of the agent's. At its end it may
    wait for `farewell` only."""

    def hook(event: str) -> dict[str, Any]:
        waits = farewell if event == "end" and farewell is not None else timeout
        return {"type": "command", "command": ground.hook(event, agent), "timeout": waits}

    return {name: {"hooks": [hook(event)]} for name, event in events.items()}


def merge(ground: Ground, path: Path, hooks: dict[str, Any], agent: str) -> None:
    """Adds the hooks that are not there, and takes out older ones of ours. Raises `ByHand`."""
    before = read(path) or ""
    try:
        text = before
        if _ours(text, hooks) != hooks:
            text = _without(before, agent)
            for name, hook in hooks.items():
                text = add(text, ["hooks", name], hook)
        parsed(text)
    except Unreadable as error:
        raise ByHand(
            path, str(error), json.dumps({"hooks": {name: [hook] for name, hook in hooks.items()}}, indent=2)
        ) from None
    ground.write(path, text)


def unmerge(ground: Ground, path: Path, agent: str) -> None:
    before = read(path)
    if before is None:
        return
    try:
        ground.write(path, _without(before, agent))
    except Unreadable as error:
        raise ByHand(path, str(error), f"Take out every hook whose command ends with: --agent {agent}") from None


def merged(path: Path, agent: str) -> bool:
    try:
        node = parsed(read(path) or "{}").get("hooks")
    except Unreadable:
        return False
    return node is not None and any(_ours_in(item, agent) for _, _, event in node.parts for item in _items(event.value))


def meaning(text: str) -> Any:
    """What a file says, less what is empty in it."""
    try:
        return _filled(parsed(text).value) if text.strip() else {}
    except Unreadable as error:
        raise ValueError(str(error)) from None


def _filled(value: Any) -> Any:
    if isinstance(value, dict):
        every = {key: _filled(one) for key, one in value.items()}
        return {key: one for key, one in every.items() if one not in ({}, [])}
    return [_filled(one) for one in value] if isinstance(value, list) else value


def _ours(text: str, hooks: dict[str, Any]) -> dict[str, Any]:
    node = parsed(text).get("hooks") if text.strip() else None
    events = node.value if node is not None and isinstance(node.value, dict) else {}
    return {name: hook for name, hook in hooks.items() if hook in _items(events.get(name))}


def _without(text: str, agent: str) -> str:
    node = parsed(text).get("hooks") if text.strip() else None
    for name in [part[0] for part in node.parts] if node is not None else []:
        found = parsed(text).get("hooks")
        event = found.get(name or "") if found is not None else None
        items = _items(event.value) if event is not None else []
        left = len(items)
        for at, item in reversed([*enumerate(items)]):
            ours = _ours_in(item, agent)
            if ours and len(ours) == len(item["hooks"]):
                text, left = taken(text, ["hooks", name or ""], at), left - 1
                continue
            for one in reversed(ours):  # beside those of a person
                text = taken(text, ["hooks", name or "", at, "hooks"], one)
        if items and not left:
            text = taken(text, ["hooks", name or ""])
    found = parsed(text).get("hooks") if node is not None and node.parts else None
    return taken(text, ["hooks"]) if found is not None and not found.parts else text


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _ours_in(item: Any, agent: str) -> list[int]:
    """Which of an item's hooks are ours, wherever the command that they run lay when they were added."""
    hooks = _items(item.get("hooks")) if isinstance(item, dict) else []
    commands = [str(hook.get("command")) if isinstance(hook, dict) else "" for hook in hooks]
    return [at for at, command in enumerate(commands) if _is_ours(command, agent)]


def _is_ours(command: str, agent: str) -> bool:
    try:
        *program, hook, event, option, name = shlex.split(command)
    except ValueError:
        return False
    tieline = (program[-1:] and Path(program[-1]).name == "tieline") or program[-2:] == ["-m", "adapters.main"]
    return bool(tieline) and event in EVENTS and [hook, option, name] == ["hook", "--agent", agent]
