"""The agents whose commands are known: what runs each of them as an ACP agent over stdio."""

import sys
from collections.abc import Mapping

PRESETS: Mapping[str, tuple[str, ...]] = {
    "claude-code": ("claude-agent-acp",),
    "codex": ("codex-acp",),
    "gemini": ("gemini", "--acp"),
    "goose": ("goose", "acp"),
    "hermes": ("hermes-acp",),
    "opencode": ("opencode", "acp"),
    "scripted": (sys.executable, "-P", "-m", "adapters.scripted"),
}

HOOKS_ENV: Mapping[str, Mapping[str, str]] = {"hermes": {"HERMES_ACCEPT_HOOKS": "1"}}
"""What tells an agent that its user consents to the hooks that are set up for it."""

SAFE_ENV: Mapping[str, Mapping[str, str]] = {
    "hermes": {"HERMES_SAFE_MODE": "1", "HERMES_IGNORE_USER_CONFIG": "1"},
}
"""What keeps an agent from its user's configuration, beside a home of its own."""
