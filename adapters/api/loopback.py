"""The way in over TCP: only for whoever holds a capability token, and only on this machine (DESIGN §7).

A page in a browser of this machine can reach the port, too. So it is answered only under a name of the loopback, and
never to a page of another address; and a token is no part of an address, which browsers and logs keep.
"""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adapters.api.exchange import Exchange
from adapters.api.refusals import refusal
from bridge.errors import Code, Refused

ServeWeb = Callable[[str, Scope, Receive, Send], Awaitable[None]]
"""Answers a request in the name of the token that has admitted it."""

MCP_PATH = "/mcp"

_FAREWELL_S = 0.5
"""A call that is cut off with its token is told so within that time."""
_RECORD_S = 1.0
"""Anybody on this machine may knock: attempts are recorded so often at most, or they would fill the disk."""
_SECRETS = frozenset({"token", "access_token", "authorization", "bearer", "api_key", "key"})


class Loopback:
    """An ASGI application before that of the control API and before MCP. `authorities` are the hosts, with their port,
    under which it answers."""

    def __init__(self, exchange: Exchange, api: ASGIApp, mcp: ServeWeb | None, authorities: frozenset[str]) -> None:
        self._exchange = exchange
        self._api = api
        self._mcp = mcp
        self._authorities = authorities
        self._recorded = -_RECORD_S

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        answer = self._misdirected(scope)
        token = ""
        if answer is None:
            token, answer = await self._admitted(scope)
        if answer is not None:
            await answer(scope, receive, send)
            return
        await self._until_ended(token, scope, receive, send)

    def _misdirected(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        if len(hosts) != 1 or hosts[0].lower() not in self._authorities:
            return _refuse("this host is not the bridge's own loopback address", 421)
        if any(origin.lower().removeprefix("http://") not in self._authorities for origin in origins):
            return _refuse("pages of other addresses get nothing here", 403, Code.NOT_PERMITTED)
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if any(name.lower() in _SECRETS for name, _ in query):
            return _refuse("a token is no part of an address: send it as Authorization: Bearer", 400)
        return None

    async def _admitted(self, scope: Scope) -> tuple[str, Response | None]:
        given = Headers(scope=scope).getlist("authorization")
        scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
        token = token.strip()
        if scheme.lower() != "bearer" or not token:
            remedy = "Send a token of a session as Authorization: Bearer; see tieline session token."
            return "", _challenge(Refused(Code.NOT_PERMITTED, "nobody is let in here without a token", remedy=remedy))
        if self._exchange.token_session(token) is not None:
            return token, None
        remedy = "A person can make another: tieline session token."
        refused = Refused(Code.NOT_PERMITTED, "the capability token is unknown or was revoked", remedy=remedy)
        if monotonic() - self._recorded >= _RECORD_S:
            self._recorded = monotonic()
            wish = f"{scope['method']} {scope['path']}"
            await self._exchange.turned_away(None, f"{wish} over the loopback", refused)
        return "", _challenge(refused)

    async def _until_ended(self, token: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Serves the request. It is cut off as soon as its token ends; a call over MCP is first told so."""
        begun = False

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        over_mcp = self._mcp is not None and scope["path"].rstrip("/") == MCP_PATH
        if self._mcp is not None and over_mcp:
            serving = asyncio.ensure_future(self._mcp(token, scope, receive, noted))
        else:
            serving = asyncio.ensure_future(self._api(scope, receive, noted))
        ending = asyncio.ensure_future(self._exchange.token_ended(token).wait())
        try:
            await asyncio.wait({serving, ending}, return_when=asyncio.FIRST_COMPLETED)
            if not serving.done() and over_mcp and scope["method"] == "POST":
                await asyncio.wait({serving}, timeout=_FAREWELL_S)
            if serving.done():
                serving.result()
                return
        finally:
            ending.cancel()
            serving.cancel()
            await asyncio.wait({serving})
        if not begun:
            await refusal(Refused(Code.NOT_PERMITTED, "the capability token was revoked"), 401)(scope, receive, send)
        # Else the answer stays without its end, and the server cuts the connection.


def authorities(host: str, port: int) -> frozenset[str]:
    """The names under which a listener of the loopback is reached."""
    shown = f"[{host}]" if ":" in host else host
    return frozenset(f"{name}:{port}" for name in (shown, "127.0.0.1", "localhost", "[::1]"))


def _refuse(reason: str, status: int, code: Code = Code.INVALID_REQUEST) -> Response:
    return refusal(Refused(code, reason), status)


def _challenge(refused: Refused) -> Response:
    response = refusal(refused, 401)
    response.headers["WWW-Authenticate"] = "Bearer"
    return response
