"""What an agent tells of a compression of its context: that it goes on with it under another id.

ACP has no word for that (0.12). Hermes tells it in the metadata of a `session_info_update`, under
`hermes.sessionProvenance`: within its process the context keeps the id by which it was opened, and the later one opens
it from then on.
"""

import re
from collections.abc import Mapping
from typing import Any

_ALIAS = re.compile(r"[A-Za-z0-9_.:-]{1,200}")


def compressed_to(meta: Mapping[str, Any] | None) -> str | None:
    """The id of the context from now on, where it was compressed into another one."""
    about: object = meta
    for key in ("hermes", "sessionProvenance"):
        about = about.get(key) if isinstance(about, Mapping) else None
    if not isinstance(about, Mapping) or about.get("reason") != "compression":
        return None
    alias = about.get("currentHermesSessionId")
    return alias if isinstance(alias, str) and _ALIAS.fullmatch(alias) else None
