"""What the tables of agents without ACP (`mode = "command"`) must say."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from adapters.settings.commands import COMMAND, OWN_KEYS
from adapters.settings.explain import dotted
from adapters.settings.problems import Problem
from adapters.settings.sources import Sources

_STEP = r"(?:[^.\[\]]+|(?=\[))(?:\[[^\[\]=]+=[^\[\]]*\])*"
_PATH = re.compile(rf"{_STEP}(?:\.{_STEP})*")


def command_problems(sources: Sources) -> Iterator[Problem]:
    for name in sources.keys("agents"):
        table = {key: sources.get("agents", name, key) for key in ("mode", "command", "peer_text", "preset", *OWN_KEYS)}
        for key, what, remedy in _wrong(table, sources, name):
            path = ("agents", name, key) if table.get(key) is not None else ("agents", name)
            yield Problem(sources.where(*path), f"{dotted(path)} {what}", remedy)


def _wrong(table: Mapping[str, Any], sources: Sources, name: str) -> Iterator[tuple[str, str, str]]:
    given = {key for key in OWN_KEYS if table[key] is not None}
    if table["mode"] != COMMAND:
        for key in sorted(given):
            yield key, "is of agents that are driven by a command", 'write mode = "command", or remove it'
        return
    if table["preset"] is not None:
        yield "preset", "is of agents that speak ACP", "write the command of a turn, and remove preset"
    command, resume = (_parts(sources, name, key) for key in ("command", "resume"))
    output, text, session = table["output"], table["text"], table["session"]
    if resume and not any("{session}" in part for part in resume):
        yield "resume", "does not say with which context to go on", "put {session} where its id belongs"
    if any("{session}" in part for part in command):
        yield "command", "begins a context, which has no id yet", "move {session} into resume"
    if resume and session is None:
        yield "resume", "needs the id of a context", "set session to where the command tells it"
    if session is not None and not resume:
        yield "session", "is used by nothing", "set resume to how the command goes on with a context"
    if output == "json" and text is None:
        yield "output", "does not say where the text is", 'set text to a path, as in text = "result"'
    if output != "json" and text is not None:
        yield "text", "is a path into JSON", 'write output = "json", or remove it'
    yield from _unreadable(table)
    tools = any("{mcp_config}" in part for part in (*command, *resume))
    if not tools and table["peer_text"] != "embed":
        what = "has no tools to read mail with"
        remedy = 'write peer_text = "embed": what other agents write then stands in its prompts; or, where it takes MCP'
        yield "peer_text", what, f"{remedy} servers, put {{mcp_config}} into command"


def _unreadable(table: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    paths = ["text"] + (["session"] if table["output"] == "json" else [])
    for key in paths:
        if isinstance(table[key], str) and not _PATH.fullmatch(table[key]):
            yield key, f"has {table[key][:80]!r}, which is no path", "write item[type=agent_message].text or the like"
    for key in ("lost", *([] if table["output"] == "json" else ["session"])):
        try:
            re.compile(table[key] if isinstance(table[key], str) else "")
        except re.error as error:
            yield key, f"is no regular expression: {error}", "correct it; a backslash is written in single quotes"


def _parts(sources: Sources, name: str, key: str) -> list[str]:
    return [part for _, part in sources.items("agents", name, key) if isinstance(part, str)]
