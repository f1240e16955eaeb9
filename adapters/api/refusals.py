"""How refusals and faults look on the wire: `{"error": {"code", "reason", "rule", "remedy"}}`."""

import logging
from collections.abc import Sequence

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from bridge.errors import Code, Refused

log = logging.getLogger(__name__)

STATUS: dict[Code, int] = {
    Code.INVALID_REQUEST: 400,
    Code.UNKNOWN_SESSION: 404,
    Code.UNKNOWN_MESSAGE: 404,
    Code.SELF_SEND: 400,
    Code.NOT_PERMITTED: 403,
    Code.WAKE_NOT_PERMITTED: 403,
    Code.TOO_LARGE: 413,
    Code.INBOX_FULL: 429,
    Code.RATE_LIMITED: 429,
    Code.DEPTH_LIMIT: 403,
    Code.VISIT_LIMIT: 403,
    Code.CONVERSATION_BUDGET: 403,
    Code.WOULD_DEADLOCK: 409,
    Code.NO_RETURN_PATH: 409,
    Code.ALREADY_ANSWERED: 409,
    Code.SESSION_CLOSED: 410,
    Code.STALE_EPOCH: 409,
    Code.EXPIRED: 410,
    Code.BUSY: 409,
    Code.PAUSED: 409,
    Code.UNAVAILABLE: 503,
}


class ClientGone(Exception):
    """The client closed its connection while it was waiting."""


def answer_with_refusals(app: FastAPI) -> None:
    """Whatever goes wrong in `app` is answered in the one form of refusals."""
    app.add_exception_handler(Refused, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _not_served)
    app.add_exception_handler(ClientGone, _gone)


def refusal(refused: Refused, status: int | None = None) -> JSONResponse:
    return JSONResponse({"error": refused.as_json()}, status_code=status or STATUS[refused.code])


def unexpected(fault: Exception) -> JSONResponse:
    """Logs a defect, once, and hides it from the caller."""
    log.error("a request of the control API failed", exc_info=fault)
    return refusal(
        Refused(
            Code.UNAVAILABLE,
            "the bridge failed on this request; its log says why",
            remedy="Look whether it was carried out before you try it again.",
        )
    )


async def _refused(_: Request, refused: Exception) -> JSONResponse:
    assert isinstance(refused, Refused)
    return refusal(refused)


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    # Only where and why: what the caller sent may be huge, secret, or no text at all, and so may the names of its keys.
    reasons = [_reason(one["loc"], one["msg"]) for one in error.errors()[:5]]
    return refusal(Refused(Code.INVALID_REQUEST, "; ".join(reasons).encode("ascii", "backslashreplace").decode()))


def _reason(where: Sequence[int | str], what: str) -> str:
    """Without the part of the request, which the caller may not know: `verbs.0: Input should be …`."""
    name = ".".join(str(part)[:60] for part in where[1:])
    said = what.removeprefix("Value error, ")
    return f"{name}: {said}" if name else said


async def _not_served(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    code = Code.TOO_LARGE if error.status_code == STATUS[Code.TOO_LARGE] else Code.INVALID_REQUEST
    return refusal(Refused(code, str(error.detail)), error.status_code)


async def _gone(_: Request, __: Exception) -> JSONResponse:
    return JSONResponse(None, status_code=499)
