"""What an agent tells of a compression of its context: that it goes on with it under another id.

ACP has no word for that (0.12). Hermes tells it in the metadata of a `session_info_update`, under
`hermes.sessionProvenance`: within its process the context keeps the id by which it was opened, and the later one opens
it from then on. Our own agent for commands, which gives a context an id before the command has told its own, tells it
under `tieline.alias`.
"""

import re
from collections.abc import Mapping
from typing import Any

_ALIAS = re.compile(r"[A-Za-z0-9_.:-]{1,200}")


def compressed_to(meta: Mapping[str, Any] | None) -> str | None:
    """The id of the context from now on, where it was compressed into another one."""
    told = _under(meta, "hermes", "sessionProvenance")
    compressed = _under(told, "reason") == "compression"
    alias = _under(told, "currentHermesSessionId") if compressed else _under(meta, "tieline", "alias")
    return alias if isinstance(alias, str) and _ALIAS.fullmatch(alias) else None


def _under(value: object, *keys: str) -> object:
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
