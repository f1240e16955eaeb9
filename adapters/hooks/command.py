"""`tieline hook install AGENT`, `remove AGENT` and `status`."""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Mapping
from types import ModuleType

from adapters.hooks import claude, codex, gemini, hermes, opencode
from adapters.hooks.ground import ByHand, Ground, NoAgent

AGENTS: dict[str, ModuleType] = {one.AGENT: one for one in (claude, codex, gemini, hermes, opencode)}
_OK, _FAILED, _USAGE, _CONFIG = 0, 70, 64, 78


def hooks(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    if options.action == "status":
        for name, each in AGENTS.items():
            try:
                state = each.installed(Ground(environ, _tieline()))
            except OSError as error:
                _say(options, {"agent": name, "installed": None}, f"{name}: nobody can tell ({error})")
                continue
            _say(options, {"agent": name, "installed": state}, f"{name}: {'installed' if state else 'not installed'}")
        return _OK
    if options.agent not in AGENTS:
        reason = f"no hooks are known for {options.agent[:60]!r}: they are for {', '.join(AGENTS)}"
        return _refused(options, reason, "Name one of these.", _USAGE)
    agent, ground = AGENTS[options.agent], Ground(environ, _tieline())
    confirm: list[str] = []
    try:
        if options.action == "install":
            confirm = agent.install(ground)
        else:
            agent.remove(ground)
    except ByHand as error:
        ground.undo()
        what = "Add this to it yourself" if options.action == "install" else "Do this yourself"
        return _refused(options, str(error), f"{what}: {error.what}", _CONFIG)
    except (NoAgent, OSError) as error:
        ground.undo()
        return _refused(options, str(error), "Set it right, and say the same again.", _FAILED)
    changed = bool(ground.changed or ground.ran)
    done = {"install": "installed", "remove": "removed"}[options.action] if changed else "unchanged"
    shown = {"agent": options.agent, "action": done, "files": ground.changed, "commands": ground.ran}
    shown["confirm"] = confirm
    lines = [f"{options.agent}: {done}", *(f"  {path}" for path in ground.changed), *confirm]
    _say(options, shown, "\n".join(lines))
    return _OK


def _tieline() -> list[str]:
    """The command that is run now, for agents to run it, too."""
    own = os.path.abspath(sys.argv[0])
    if os.path.basename(own) == "tieline" and os.access(own, os.X_OK) and shutil.which(own):
        return [own]
    return [sys.executable, "-P", "-m", "adapters.main"]


def _say(options: argparse.Namespace, shown: Mapping[str, object], text: str) -> None:
    print(json.dumps(shown) if options.json else text, flush=True)


def _refused(options: argparse.Namespace, reason: str, remedy: str, code: int) -> int:
    if options.json:
        name = "unavailable" if code == _FAILED else "invalid_request"
        print(json.dumps({"error": {"code": name, "reason": reason, "rule": None, "remedy": remedy}}), flush=True)
    else:
        print(f"{reason}\n{remedy}", file=sys.stderr, flush=True)
    return code
