"""The fake Bot API over HTTP, with the faults that a real one shows."""

import asyncio
import json
import time
from collections import defaultdict, deque
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from aiohttp import web

from tests.fakes.bot_api.contract import METHODS, Drift, Method, checked_answer, parsed
from tests.fakes.bot_api.methods import Methods
from tests.fakes.bot_api.world import ApiError, World


class Fault(Enum):
    """What goes wrong with one request."""

    ERROR_500 = "answered 500; nothing was done"
    CUT_BEFORE = "the connection is reset; nothing was done"
    CUT_AFTER = "it was done, and the connection is reset before the answer"
    SILENT_AFTER = "it was done, and no answer ever comes"


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came, `at` the seconds of a monotonic clock. Fields are the text that was sent."""

    method: str
    fields: dict[str, str] = field(default_factory=dict)
    at: float = 0.0


class Server:
    """Serves one bot. `requests` holds every request that had the right token, in order."""

    def __init__(self, world: World, methods: Methods, token: str) -> None:
        self._world = world
        self._methods = methods
        self._runner: web.AppRunner | None = None
        self._faults: dict[str, deque[Fault]] = defaultdict(deque)
        self._floods: dict[int, deque[int]] = defaultdict(deque)
        self.token = token
        self.port = 0
        self.requests: list[Request] = []
        self.drift: list[Drift] = []

    async def start(self) -> None:
        """Listens on the port of before, if there was one."""
        app = web.Application()
        app.router.add_route("*", "/bot{token}/{method}", self._serve)
        self._runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.05)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", self.port, reuse_address=True)
        await site.start()
        self.port = self._runner.addresses[0][1]

    async def stop(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    def fail(self, method: str, fault: Fault, times: int) -> None:
        self._faults[method.lower()].extend([fault] * times)

    def flood(self, chat: int, retry_after: int, times: int) -> None:
        self._floods[chat].extend([retry_after] * times)

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if request.match_info["token"] != self.token:
            return _refusal(ApiError(401, "Unauthorized"))
        name = request.match_info["method"].lower()
        method = METHODS.get(name)
        if method is None:
            return _refusal(ApiError(404, "Not Found"))
        fields = {**request.query, **{key: str(value) for key, value in (await request.post()).items()}}
        self.requests.append(Request(method.__api_method__, fields, time.monotonic()))
        self._world.pulse()
        faults = self._faults[name]
        return await self._answer(request, method, fields, faults.popleft() if faults else None)

    async def _answer(
        self, request: web.Request, method: type[Method], fields: dict[str, str], fault: Fault | None
    ) -> web.StreamResponse:
        if fault is Fault.ERROR_500:
            return _refusal(ApiError(500, "Internal Server Error"))
        if fault is Fault.CUT_BEFORE:
            return _cut(request)
        try:
            result = await self._result(method, fields)
        except ApiError as error:
            return _refusal(error)
        except Drift as drift:
            self.drift.append(drift)
            return _refusal(ApiError(500, str(drift)))
        finally:
            self._world.pulse()
        if fault is Fault.CUT_AFTER:
            return _cut(request)
        if fault is Fault.SILENT_AFTER:
            await asyncio.Event().wait()
        return web.json_response({"ok": True, "result": result})

    async def _result(self, method: type[Method], fields: dict[str, str]) -> Any:
        call = parsed(method, fields)
        chat = getattr(call, "chat_id", None)
        floods = self._floods[chat] if isinstance(chat, int) else None
        if floods:
            seconds = floods.popleft()
            raise ApiError(429, f"Too Many Requests: retry after {seconds}", {"retry_after": seconds})
        result = await self._methods.run(call)
        if method is not METHODS["getupdates"]:  # its updates were checked when they were added
            checked_answer(method, result)
        return json.loads(json.dumps(result))


def _refusal(error: ApiError) -> web.Response:
    body: dict[str, Any] = {"ok": False, "error_code": error.code, "description": error.description}
    if error.parameters is not None:
        body["parameters"] = dict(error.parameters)
    return web.json_response(body, status=error.code)


def _cut(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
