"""What an agent is started with beside its command: it decides as much what runs, and what of the bridge's it gets."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

from adapters.acp.presets import PRESETS
from adapters.settings.model import AgentSettings, PeerText


@dataclass(frozen=True, slots=True)
class Surroundings:
    """`env` is a digest, for its values may be secrets; `variables` are their names. `embeds` says that what peers
    write stands among its user's words."""

    env: str = sha256(b"{}").hexdigest()
    variables: tuple[str, ...] = ()
    env_pass: frozenset[str] = frozenset()
    embeds: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "env": self.env,
            "variables": list(self.variables),
            "env_pass": sorted(self.env_pass),
            "embeds": self.embeds,
        }

    @classmethod
    def from_json(cls, copy: Mapping[str, Any]) -> "Surroundings":
        return cls(copy["env"], tuple(copy["variables"]), frozenset(copy["env_pass"]), copy["embeds"])


def surroundings(agent: AgentSettings) -> Surroundings:
    # What a preset brings is the bridge's own, and no news of the file's.
    hooks = agent.hooks_env if agent.hooks_env not in [one.hooks_env for one in PRESETS.values()] else {}
    safe = agent.safe_env if agent.safe_env not in [one.safe_env for one in PRESETS.values()] else {}
    said: dict[str, object] = dict(sorted(agent.env.items()))
    if hooks or safe:
        said = {"env": said, "hooks_env": sorted(hooks.items()), "safe_env": sorted(safe.items())}
    return Surroundings(
        env=sha256(json.dumps(said).encode("utf-8", "surrogatepass")).hexdigest(),
        variables=tuple(sorted({*agent.env, *hooks, *safe})),
        env_pass=frozenset(agent.env_pass) - _brought(agent),
        embeds=agent.peer_text is PeerText.EMBED,
    )


def _brought(agent: AgentSettings) -> frozenset[str]:
    """What its preset passes to its own command; to another one it is passed by the file."""
    preset = PRESETS.get(agent.preset or "")
    return frozenset(preset.env_pass) if preset is not None and agent.command == preset.command else frozenset()


def wider(accepted: Surroundings, wanted: Surroundings) -> Iterator[str]:
    """A line each for people. Of what is set for an agent any may decide which program runs, and none is harmless."""
    if wanted.env != accepted.env:
        yield f"its env is another one ({', '.join(wanted.variables) or 'empty'})"
    if passed := sorted(wanted.env_pass - accepted.env_pass):
        yield f"gets {', '.join(passed)} of the bridge's environment"
    if wanted.embeds and not accepted.embeds:
        yield f"peer_text is {PeerText.EMBED.value}: what peers write stands among its user's words"


def held_to(agent: AgentSettings, accepted: Surroundings) -> AgentSettings | None:
    """The agent with no more than was accepted. None where that cannot be told any more."""
    if surroundings(agent).env != accepted.env:
        return None
    return replace(
        agent,
        env_pass=tuple(name for name in agent.env_pass if name in accepted.env_pass | _brought(agent)),
        peer_text=agent.peer_text if accepted.embeds else PeerText.PULL,
    )
