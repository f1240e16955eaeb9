"""What an agent finds around it: its environment, and in safe mode a home of its own."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from adapters.acp.failures import failure
from adapters.acp.spec import AgentSpec, environment
from bridge.ports.runtime import Launch, StartFailed
from bridge.turn import FailureKind

_CONFIGURING = ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "GEMINI_CLI_HOME", "HERMES_HOME", "OPENCODE_CONFIG")
"""Variables that lead agents to the user's configuration wherever their home is."""

_FOLDERS = {
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
    "XDG_CACHE_HOME": ".cache",
}


def environment_of(launch: Launch, spec: AgentSpec, base: Mapping[str, str]) -> dict[str, str]:
    """The whole environment of an agent of that session. Raises `StartFailed` where it cannot have what its session is
    to have, or to be kept from."""
    env = environment(spec, base)
    if launch.options.hooks:
        if not spec.hooks_env:
            raise _wrong(f"Nothing tells the agent {spec.name!r} of a consent to hooks (hooks_env).")
        env |= spec.hooks_env
    if launch.options.safe:
        home = _safe_home(launch, base)
        env = {name: value for name, value in env.items() if name not in _CONFIGURING}
        env |= {"HOME": str(home), **{name: str(home / folder) for name, folder in _FOLDERS.items()}, **spec.safe_env}
    return env


def _safe_home(launch: Launch, base: Mapping[str, str]) -> Path:
    """A folder of the bridge's for the agents of one session. What an agent keeps there is its own, and gone with its
    context."""
    if "TIELINE_HOME" not in base:
        raise _wrong("Safe mode takes a home of the bridge (TIELINE_HOME).")
    if os.path.realpath(launch.cwd) == os.path.realpath(base.get("HOME", os.path.expanduser("~"))):
        raise _wrong("In safe mode an agent does not work in your home, which holds your configuration.")
    home = Path(base["TIELINE_HOME"]) / "safe" / launch.session.replace("/", "_") / launch.agent
    try:
        if launch.alias is None:
            shutil.rmtree(home, ignore_errors=True)
        for folder in (home.parent.parent, home.parent, home):
            folder.mkdir(mode=0o700, exist_ok=True)
            folder.chmod(0o700)
    except OSError as error:
        raise _wrong(f"The home for safe mode, {home}, cannot be made: {error.strerror}.") from None
    return home


def _wrong(detail: str) -> StartFailed:
    return StartFailed(failure(FailureKind.CONFIG, detail))
