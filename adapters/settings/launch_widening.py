"""What the agent of a session would gain by what it is started with (DESIGN §4)."""

import shlex
from collections.abc import Iterator
from dataclasses import replace

from bridge.launching import Options
from bridge.phrases import short

_OWN = "the agent's own"


def gained(accepted: Options, wanted: Options) -> Iterator[str]:
    """A line each for people. Another mode or model is one whatever it is called: nobody knows which may do more."""
    for server in wanted.servers:
        if server not in accepted.servers:
            passed = f", with {', '.join(server.env_pass)}" if server.env_pass else ""
            yield f"its agent gets the MCP server {server.name}, which runs {shlex.join(server.command)}{passed}"
    for name in ("mode", "model"):
        earlier, now = getattr(accepted, name), getattr(wanted, name)
        if now != earlier:
            yield f"{name} is {now or _OWN} instead of {earlier or _OWN}"
    if wanted.hooks and not accepted.hooks:
        yield "the hooks that are set up for its agent run without a question"
    if accepted.safe and not wanted.safe:
        yield "safe is off: its agent gets what is configured for its user"
    if wanted.preamble not in (None, accepted.preamble):
        yield f"its agent is told, as by its user: {short(wanted.preamble or '', 300)}"
    if files := sorted({*wanted.files} - {*accepted.files}):
        yield f"its agent is given {', '.join(files)}"
    if agents := [name for name in wanted.fallback if name not in accepted.fallback]:
        yield f"{', '.join(agents)} may answer for its agent"


def kept_to(accepted: Options, wanted: Options) -> Options:
    """What was accepted, less what is wanted no more. All of it goes together: mode and servers may need each other."""
    if not any(gained(accepted, wanted)):
        return wanted
    servers = {server.name for server in wanted.servers}
    return replace(
        accepted,
        label=wanted.label,
        hooks=accepted.hooks and wanted.hooks,
        safe=accepted.safe or wanted.safe,
        servers=tuple(one for one in accepted.servers if one.name in servers),
        fallback=tuple(one for one in accepted.fallback if one in wanted.fallback),
    )
