"""Hermes in a terminal: a plugin folder, and two entries in its config, whose comments it would drop itself.

The config is changed line by line. Each line of ours ends with a mark; where the file is of a form in which that
cannot be done safely, nothing is changed.
"""

import json
import re
from importlib.resources import files
from pathlib import Path

from adapters.hooks.ground import ByHand, Ground, read

AGENT = "hermes"
NAME = "tieline-terminal"
_MARK = "  # tieline hook"
_KEY = re.compile(r"([A-Za-z_][\w-]*):(.*)$")


class _Strange(ValueError):
    """A config of another form than is understood here."""


def install(ground: Ground) -> list[str]:
    before = read(_config(ground)) or ""
    try:
        text = _with(_without(before), "plugins", ["  enabled:", f"    - {NAME}"], ground)
        text = _with(text, "mcp_servers", _server(ground), ground)
    except _Strange as error:
        lines = ["plugins:", "  enabled:", f"    - {NAME}", "mcp_servers:", *_server(ground)]
        raise ByHand(_config(ground), str(error), "\n".join(lines)) from None
    for path, content in _files(ground).items():
        ground.write(path, content)
    ground.write(_config(ground), text)
    own_bot = "This is for Hermes in terminals. What hermes gateway runs joins by: tieline gateway pair hermes"
    return ["Start hermes again where it runs.", own_bot] if ground.changed else []


def remove(ground: Ground) -> None:
    ground.remove(_plugin(ground))
    folder = _plugin(ground).parent
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
    before = read(_config(ground))
    if before is None:
        return
    text = _without(before)
    if before and not text:
        ground.remove(_config(ground))
    else:
        ground.write(_config(ground), text)


def installed(ground: Ground) -> bool:
    return _plugin(ground).is_dir() and f"- {NAME}{_MARK}" in (read(_config(ground)) or "")


def _folder(ground: Ground) -> Path:
    return ground.folder("HERMES_HOME", ".hermes")


def _plugin(ground: Ground) -> Path:
    return _folder(ground) / "plugins" / NAME


def _config(ground: Ground) -> Path:
    return _folder(ground) / "config.yaml"


def _server(ground: Ground) -> list[str]:
    lines = [
        "  tieline:",
        f"    command: {json.dumps(ground.tieline[0])}",
        f"    args: {json.dumps([*ground.tieline[1:], 'mcp', '--agent', AGENT])}",
    ]
    if ground.variables:
        lines.append(f"    env: {json.dumps(ground.variables)}")
    return lines


def _files(ground: Ground) -> dict[Path, str]:
    variables = [f"{name}={value}" for name, value in ground.variables.items()]
    words = [*(["env", *variables] if variables else []), *ground.tieline]
    form = files(__package__).joinpath("plugins", "hermes.py.txt").read_text("utf-8")
    manifest = f"name: {NAME}\nversion: 0.1.0\ndescription: Mail between agents' sessions in a terminal\n"
    return {
        _plugin(ground) / "__init__.py": form.replace('"{command}"', json.dumps(words)),
        _plugin(ground) / "plugin.yaml": manifest,
    }


def _with(text: str, key: str, lines: list[str], ground: Ground) -> str:
    """The text with these lines below a key of the top, which is made where it is not there."""
    every = text.splitlines(keepends=True)
    at = next((n for n, line in enumerate(every) if (found := _KEY.match(line)) and found[1] == key), None)
    if at is None:
        if any(re.match(rf"\ufeff?(?:\{{|[\"']?{key}[\"']?\s*:)", line) for line in every):
            raise _Strange(f"{key} may be there already, in another form")
        if every and not every[-1].endswith("\n"):
            raise _Strange("its last line has no end")
        return text + "".join(f"{line}{_MARK}\n" for line in (f"{key}:", *lines))
    if not _opens(every[at]):
        raise _Strange(f"{key} is no block")
    indent = _indent_below(every, at)
    known = lines[0].strip()
    for n in range(at + 1, len(every)):
        if every[n].strip() and not every[n].startswith((" ", "#")):
            break
        if every[n].startswith(f"{' ' * indent}{known}"):
            if known != "enabled:" or not _opens(every[n]):
                raise _Strange(f"{key} has {known.rstrip(':')} already, in another form")
            item = next((line for line in every[n + 1 :] if line.strip() and not line.lstrip().startswith("#")), "")
            if not item.lstrip().startswith("- "):
                raise _Strange(f"{known} is no list of lines")
            every.insert(n + 1, f"{' ' * (len(item) - len(item.lstrip()))}{lines[1].strip()}{_MARK}\n")
            return "".join(every)
    shift = " " * (indent - 2)
    return "".join([*every[: at + 1], *(f"{shift}{line}{_MARK}\n" for line in lines), *every[at + 1 :]])


def _opens(line: str) -> bool:
    """Whether what belongs to a key stands below it."""
    rest = line.partition(":")[2].strip()
    return line.endswith("\n") and (not rest or rest.startswith("#"))


def _indent_below(every: list[str], at: int) -> int:
    for line in every[at + 1 :]:
        if line.strip() and not line.lstrip().startswith("#"):
            indent = len(line) - len(line.lstrip(" "))
            if "\t" in line[: indent + 1] or line.lstrip().startswith("- "):
                raise _Strange("what stands below a key is no mapping")
            return indent if indent >= 2 else 2
    return 2


def _without(text: str) -> str:
    return "".join(line for line in text.splitlines(keepends=True) if not line.rstrip("\n").endswith(_MARK))
