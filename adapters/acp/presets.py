"""The agents that are known by name: how each is started, finds its login, and differs from the others. Only data.

What was seen with real ones is told by `tests/agents`, and by their recorded frames.
"""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from bridge.turn import FailureKind


class Lost(StrEnum):
    """How an agent that is asked to load a context which it does not have shows it."""

    ERROR = "error"
    EMPTY = "empty"
    """It answers as if it were there, only with nothing in the answer and nothing replayed. Whose way is not known is
    taken for one of these too, since an agent that knows its context has something to say of it."""
    SILENT = "silent"
    """It answers as for any other, and does not know it once it is prompted: only what it replays tells."""


class Spoils(StrEnum):
    """When a cancel leaves a process that answers no later prompt any more."""

    NEVER = "never"
    AMID = "amid"
    """Amid a tool call, at a question, or before the agent has shown anything."""
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class Quirks:
    """Where an agent differs from what ACP says, or from what others do. The default is of agents that nobody knows.

    `busy` is what it says, in place of an answer, of a prompt that it has only put aside: it is wedged then. `errors`
    are beginnings of what it says, in place of an answer and without usage, of a turn that failed, beside those by
    which any agent does. `banner` is a chunk of text that is no part of an answer, where it belongs to no message.
    These are regular expressions. `state` is where, in the metadata of what it tells of its session, it says how it
    fares, and `broken` what it says there of a turn that has failed, whatever it then ends with. `totals` says that it
    tells the tokens of its process so far as those of a turn. `admits` is the metadata that a context is opened with
    where the agent has tools of the bridge: without it, it asks a person before each of them, which the bridge itself
    allows or denies. `reloads` says that a model that is set takes its tool servers away, until its context is loaded
    once more.
    """

    lost: Lost = Lost.EMPTY
    spoils: Spoils = Spoils.AMID
    busy: str | None = None
    errors: tuple[tuple[str, FailureKind], ...] = ()
    banner: str | None = None
    totals: bool = False
    state: tuple[str, ...] = ()
    broken: str | None = None
    admits: Mapping[str, Any] = field(default_factory=dict)
    reloads: bool = False

    def breaks(self, meta: object) -> bool | None:
        """Whether the turn has failed, where that is told."""
        for name in self.state:
            meta = meta.get(name) if isinstance(meta, dict) else None
        return meta == self.broken if self.state and meta is not None else None

    def puts_aside(self, final: str) -> bool:
        return self.busy is not None and re.fullmatch(self.busy, final.strip()) is not None

    def failed(self, final: str) -> FailureKind | None:
        return next((kind for pattern, kind in self.errors if re.match(pattern, final)), None)

    def announces(self, chunk: str) -> bool:
        return self.banner is not None and re.fullmatch(self.banner, chunk, re.DOTALL) is not None


@dataclass(frozen=True, slots=True)
class Login:
    """Where an agent finds who pays for it: one of these files, below its home or below the folder that the variable
    names, or one of these variables. `how` is what a person does to have it."""

    how: str
    files: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    folder: tuple[str, str] | None = None
    """A variable, and the folder below the home that it stands in place of."""


@dataclass(frozen=True, slots=True)
class Preset:
    """`settings` are the variables, beside those of its login, that lead the agent to what is configured for it: it is
    passed all of them, and no others. `hooks_env` tells it of the consent to its user's hooks, `safe_env` keeps it from
    its user's configuration, beside a home of its own. `root` is what it makes of being run by root."""

    command: tuple[str, ...]
    install: str
    login: Login | None = None
    settings: tuple[str, ...] = ()
    hooks_env: Mapping[str, str] = field(default_factory=dict)
    safe_env: Mapping[str, str] = field(default_factory=dict)
    quirks: Quirks = Quirks()
    root: str | None = None

    @property
    def env_pass(self) -> tuple[str, ...]:
        return tuple(sorted({*(self.login.variables if self.login is not None else ()), *self.settings}))


PRESETS: Mapping[str, Preset] = {
    "claude-code": Preset(
        command=("claude-agent-acp",),
        install="npm install -g @agentclientprotocol/claude-agent-acp",
        login=Login(
            how="run `claude` and /login there, or set ANTHROPIC_API_KEY",
            files=(".credentials.json",),
            variables=("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"),
            folder=("CLAUDE_CONFIG_DIR", ".claude"),
        ),
        settings=(
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_MODEL",
            "API_TIMEOUT_MS",
            "CLAUDE_CODE_EXECUTABLE",
            "CLAUDE_CODE_MAX_RETRIES",
            "CLAUDE_CONFIG_DIR",
        ),
        quirks=Quirks(
            spoils=Spoils.NEVER,
            banner=r"\*\*(?:Warning|Notice|Suggestion):\*\* .*",
            admits={"claudeCode": {"options": {"allowedTools": ["mcp__tieline"]}}},
        ),
        root="it does not let root skip its permissions; run the bridge as an ordinary user",
    ),
    "codex": Preset(
        command=("codex-acp",),
        install="npm install -g @agentclientprotocol/codex-acp",
        login=Login(
            how="run `codex login`, or set OPENAI_API_KEY",
            files=("auth.json",),
            variables=("CODEX_API_KEY", "OPENAI_API_KEY"),
            folder=("CODEX_HOME", ".codex"),
        ),
        settings=("CODEX_HOME", "OPENAI_BASE_URL"),
        quirks=Quirks(
            lost=Lost.SILENT,
            spoils=Spoils.NEVER,
            banner=r"(?:Config w|W)arning: .*\n\n",
            state=("codex", "threadStatus", "type"),
            broken="systemError",
        ),
    ),
    "gemini": Preset(
        command=("gemini", "--acp"),
        install="npm install -g @google/gemini-cli",
        login=Login(
            how="run `gemini` and log in there, or set GEMINI_API_KEY",
            files=(".gemini/oauth_creds.json",),
            variables=("GEMINI_API_KEY", "GOOGLE_API_KEY"),
            folder=("GEMINI_CLI_HOME", "."),
        ),
        settings=(
            "GEMINI_CLI_HOME",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "GOOGLE_CLOUD_LOCATION",
            "GOOGLE_CLOUD_PROJECT",
            "GOOGLE_GENAI_USE_VERTEXAI",
        ),
    ),
    "goose": Preset(
        command=("goose", "acp"),
        install="see https://block.github.io/goose for how to install goose",
        login=Login(
            how="run `goose configure`",
            files=("goose/config.yaml",),
            folder=("XDG_CONFIG_HOME", ".config"),
        ),
        settings=("GOOSE_MODEL", "GOOSE_PROVIDER", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"),
    ),
    "hermes": Preset(
        command=("hermes-acp",),
        install='pip install "hermes-agent[acp,mcp]", in an environment of its own',
        login=Login(
            how="run `hermes setup`",
            files=("config.yaml", ".env", "auth.json"),
            folder=("HERMES_HOME", ".hermes"),
        ),
        settings=("HERMES_HOME",),
        hooks_env={"HERMES_ACCEPT_HOOKS": "1"},
        safe_env={"HERMES_SAFE_MODE": "1", "HERMES_IGNORE_USER_CONFIG": "1"},
        quirks=Quirks(
            busy=r"Queued for the next turn\. \(\d+ queued\)",
            errors=(
                (r"Billing or credits exhausted: ", FailureKind.BILLING),
                (r"Invalid API response after \d+ retries: ", FailureKind.CAPACITY),
                (r"Stream repeatedly dropped mid tool-call", FailureKind.CAPACITY),
                (r"Context length exceeded|Context overflow and |Request payload too large", FailureKind.CONFIG),
                (r"max_tokens exceeds the provider's output cap", FailureKind.CONFIG),
            ),
            totals=True,
            reloads=True,
        ),
    ),
    "opencode": Preset(
        command=("opencode", "acp"),
        install="npm install -g opencode-ai",
        login=Login(
            how="run `opencode auth login`, or configure a provider in opencode.json",
            files=(
                ".local/share/opencode/auth.json",
                ".config/opencode/opencode.json",
            ),
            variables=("OPENCODE_CONFIG", "OPENCODE_CONFIG_CONTENT"),
        ),
        settings=("OPENCODE_CONFIG_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"),
        quirks=Quirks(lost=Lost.ERROR, spoils=Spoils.NEVER),
    ),
    "scripted": Preset(
        command=(sys.executable, "-P", "-m", "adapters.scripted"),
        install="it comes with Tieline",
        quirks=Quirks(spoils=Spoils.AMID),
    ),
}


def quirks_of(preset: str | None) -> Quirks:
    known = PRESETS.get(preset or "")
    return known.quirks if known is not None else Quirks()
