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
