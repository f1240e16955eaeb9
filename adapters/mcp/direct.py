"""A tool called for a session without a connection of its own, as a gateway's link does it."""

import asyncio
import importlib
import logging
from collections.abc import Mapping
from typing import Any

from adapters.mcp.exchange import Exchange
from bridge.briefing import MAIL_WAITS
from bridge.errors import Code, Refused
from bridge.ids import SessionId, TurnId
from bridge.message import Origin

log = logging.getLogger(__name__)


async def call(
    exchange: Exchange, session: SessionId, turn: TurnId, name: str, arguments: Mapping[str, Any]
) -> tuple[bool, Mapping[str, Any]]:
    """What the tool gave, in the session's turn of that id; False with an `error` where it was refused."""
    tools = (await asyncio.to_thread(importlib.import_module, "adapters.mcp.tools")).TOOLS
    try:
        if name not in tools:
            raise Refused(Code.INVALID_REQUEST, f"there is no tool {name[:60]!r}")
        caller = await exchange.caller(None, origin=Origin.PEER, bound=session)
        if caller.turn != turn:
            raise Refused(Code.STALE_EPOCH, "the turn that calls is over")
        result = await tools[name].call(exchange, caller, dict(arguments))
        value = result.model_dump(mode="json", by_alias=True)
        if await exchange.mail_waits(caller):
            value["mail_waits"] = MAIL_WAITS
        return True, value
    except Refused as refused:
        return False, {"error": refused.as_json()}
    except ValueError as error:  # what pydantic raises for wrong arguments
        reasons: list[Any] = getattr(error, "errors", list)()
        said = "; ".join(f"{'.'.join(str(part)[:60] for part in one['loc'])}: {one['msg']}" for one in reasons[:5])
        wrong = Refused(Code.INVALID_REQUEST, said or "the arguments are wrong")
        return False, {"error": wrong.as_json()}
    except Exception:  # the boundary of one call
        log.exception("the tool %s failed", name)
        remedy = "Look whether it was carried out before you try it again."
        failed = Refused(Code.UNAVAILABLE, "the bridge failed on this call; its log says why", remedy=remedy)
        return False, {"error": failed.as_json()}
