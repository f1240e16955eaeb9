"""Where Telegram pushes updates to: one path, for whoever knows the secret. Nobody else learns anything here."""

import asyncio
import hmac
import json
import logging
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any
from urllib.parse import urlsplit

from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from adapters.telegram.config import Webhook
from bridge.errors import Refused

Take = Callable[[Sequence[Mapping[str, Any]]], Awaitable[None]]

MOST_BYTES = 1024 * 1024
_SECRET = b"x-telegram-bot-api-secret-token"
_BODY_S = 10.0
_GRACE_S = 0.5
AT_ONCE = 100
_CLOSE = (b"connection", b"close")
_TELEGRAMS = (200, 503)
"""What is answered to whoever knows the secret. All others are to go: what they still send is not waited for."""

_STRANGERS = logging.getLogger(f"{__name__}.strangers")
_STRANGERS.setLevel(logging.ERROR)
"""What anybody can make a server warn of, as often as they like, fills no log."""


class Listener:
    """An update is answered with 200 once `take` has returned, and with 503 as long as there is none, or it cannot be
    stored: then Telegram brings it again."""

    def __init__(self, webhook: Webhook) -> None:
        self._webhook = webhook
        self._path = urlsplit(webhook.url).path or "/"
        self._server: asyncio.Server | None = None
        self._state = ServerState()
        self.take: Take | None = None

    @property
    def port(self) -> int:
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def open(self) -> None:
        """Does nothing where it is open. Raises `OSError`."""
        if self._server is not None:
            return
        config = Config(
            self._answer,
            interface="asgi3",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            limit_concurrency=2 * AT_ONCE,
        )
        config.load()
        self._server = await asyncio.get_running_loop().create_server(
            lambda: _Connection(config, self._state),
            self._webhook.host,
            self._webhook.port,
            family=socket.AF_INET6 if ":" in self._webhook.host else socket.AF_INET,
        )

    async def aclose(self) -> None:
        """What is being taken in is answered first."""
        if self._server is None:
            return
        self._server.close()
        for connection in list(self._state.connections):
            connection.shutdown()
        if tasks := set(self._state.tasks):
            await asyncio.wait(tasks, timeout=_GRACE_S)
        for connection in list(self._state.connections):
            connection.transport.abort()
        self._server = None

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        status = await self._status(scope, receive)
        headers = [(b"content-length", b"0")] if status in _TELEGRAMS else [(b"content-length", b"0"), _CLOSE]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body"})

    async def _status(self, scope: Any, receive: Any) -> int:
        if scope["path"] != self._path or scope["method"] != "POST":
            return 404
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        given = [value for name, value in headers if name == _SECRET]
        if len(given) != 1 or not hmac.compare_digest(given[0], self._webhook.secret.encode()):
            return 401
        kind = b"".join(value for name, value in headers if name == b"content-type")
        if kind.partition(b";")[0].strip().lower() != b"application/json":
            return 415
        body = None
        with suppress(TimeoutError):
            async with asyncio.timeout(_BODY_S):
                body = await _body(receive)
        if body is None:
            return 413
        update = _update(body)
        return 400 if update is None else await self._taken(update)

    async def _taken(self, update: Mapping[str, Any]) -> int:
        if self.take is None:
            return 503
        try:
            await self.take([update])
        except Refused:
            return 503
        return 200


class _Connection(H11Protocol):
    """Where there is no room for another one, it gets that of the one that has been silent for longest: whoever
    connects and says nothing keeps nobody out."""

    def __init__(self, config: Config, state: ServerState) -> None:
        super().__init__(config, state, {})
        self.logger = _STRANGERS
        self.silent_since = self.loop.time()

    @property
    def silent(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as the library does
        super().connection_made(transport)
        if len(self.connections) > AT_ONCE:
            others = [one for one in self.connections - {self} if isinstance(one, _Connection) and one.silent]
            if others:
                min(others, key=attrgetter("silent_since")).drop()

    def on_response_complete(self) -> None:
        self.silent_since = self.loop.time()
        super().on_response_complete()

    def drop(self) -> None:
        self.transport.abort()
        self.connections.discard(self)  # at once, for many may connect before it is told


async def _body(receive: Any) -> bytes | None:
    """None where it is too large, or was broken off."""
    body: bytes = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > MOST_BYTES:
            return None
        if not message.get("more_body"):
            return body


def _update(body: bytes) -> Mapping[str, Any] | None:
    try:
        update = json.loads(body)
    except (ValueError, RecursionError):
        return None
    number = update.get("update_id") if isinstance(update, dict) else None
    return update if isinstance(number, int) and 0 <= number < 2**53 else None
