"""What the operator has said of a command: how it is started, and how its output is to be read."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PROMPT, SESSION, MCP_CONFIG = "{prompt}", "{session}", "{mcp_config}"


@dataclass(frozen=True, slots=True)
class Template:
    """`command` begins a context and `resume` goes on with one; without it each turn begins anew. A `{prompt}` that
    stands alone is replaced by the prompt, which goes to stdin where there is none; `{session}` by the command's own id
    of its context, `{mcp_config}` by the path of a file that names the MCP servers.

    With `output` "json" each line of stdout is an object, and `text` and `session` are paths into them; else `session`
    is an expression for the line that tells the id, and `lost` one for what the command says where it does not know
    that context any more. `exit_codes` tells what kind of failure a code stands for.
    """

    command: tuple[str, ...]
    resume: tuple[str, ...] = ()
    output: str = "text"
    text: str = ""
    session: str = ""
    lost: str = ""
    exit_codes: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, text: str) -> "Template":
        said = json.loads(text)
        return cls(**{**said, "command": tuple(said["command"]), "resume": tuple(said.get("resume", ()))})

    @property
    def takes_tools(self) -> bool:
        return any(MCP_CONFIG in part for part in (*self.command, *self.resume))

    def filled(self, *, prompt: str, session: str | None, mcp_config: str) -> tuple[Sequence[str], str]:
        """The command, and what goes to its stdin."""
        parts = self.resume if session is not None and self.resume else self.command
        filled = [
            prompt if part == PROMPT else part.replace(SESSION, session or "").replace(MCP_CONFIG, mcp_config)
            for part in parts
        ]
        return filled, "" if PROMPT in parts else prompt
