"""The outermost layer of the API: bounds what comes in and catches what nobody expected."""

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from adapters.api.refusals import unexpected

MAX_BODY = 4 * 1024 * 1024


class Guard:
    """An ASGI layer: a body over `MAX_BODY` bytes is refused, and an unexpected exception is logged once."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        size = 0
        begun = False

        async def bounded() -> Message:
            nonlocal size
            message = await receive()
            size += len(message.get("body", b""))
            if size > MAX_BODY:
                raise HTTPException(413, f"the body is over {MAX_BODY} bytes")
            return message

        async def noted(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, bounded, noted)
        except Exception as fault:  # noqa: BLE001 - the boundary of one request; it is logged
            response = unexpected(fault)
            if not begun:
                await response(scope, receive, send)
