"""The fake Bot API over HTTP, with the faults that a real one shows."""

import asyncio
import json
from collections import defaultdict, deque
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from aiohttp import web

from tests.fakes.bot_api.contract import METHODS, Drift, Method, checked_answer, parsed
from tests.fakes.bot_api.methods import Methods
from tests.fakes.bot_api.traffic import SENDS, Traffic
from tests.fakes.bot_api.world import ApiError, Sent, World

_LOST_S = 0.25
_ROOM_FOR_UPLOADS = 64 * 1024 * 1024


class Fault(Enum):
    """What goes wrong with one request."""

    ERROR_500 = "answered 500; nothing was done"
    TOO_LARGE = "answered 413; nothing was done"
    CUT_BEFORE = "the connection is reset; nothing was done"
    CUT_AFTER = "it was done, and the connection is reset before the answer"
    SILENT_AFTER = "it was done, and no answer ever comes"
    LOST_AFTER = "it was done, no answer comes, and a while later the connection is reset"
    SLOW_AFTER = "it was done, and the answer takes a second"


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it came, `at` the seconds of the API's clock. Fields are the text that was sent."""

    method: str
    fields: dict[str, str] = field(default_factory=dict)
    at: float = 0.0


class Server:
    """Serves one bot. `requests` holds every request that had the right token, in order; `unconfirmed` what was shown
    by a request whose answer never came."""

    def __init__(self, world: World, methods: Methods, traffic: Traffic, token: str) -> None:
        self._world = world
        self._methods = methods
        self._traffic = traffic
        self._runner: web.AppRunner | None = None
        self._faults: dict[str, deque[Fault]] = defaultdict(deque)
        self.token = token
        self.port = 0
        self.requests: list[Request] = []
        self.unconfirmed: list[Sent] = []
        self.drift: list[Drift] = []

    async def start(self) -> None:
        """Listens on the port of before, if there was one."""
        app = web.Application(client_max_size=_ROOM_FOR_UPLOADS)
        app.router.add_route("GET", "/file/bot{token}/{path:.+}", self._download)
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

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        if request.match_info["token"] != self.token:
            return _refusal(ApiError(401, "Unauthorized"))
        name = request.match_info["method"].lower()
        method = METHODS.get(name)
        if method is None:
            return _refusal(ApiError(404, "Not Found"))
        fields: dict[str, str] = dict(request.query)
        files: dict[str, tuple[str, bytes]] = {}
        for key, value in (await request.post()).items():
            if isinstance(value, web.FileField):
                files[key] = (value.filename, value.file.read())
            else:
                fields[key] = str(value)
        self.requests.append(Request(method.__api_method__, fields, self._world.clock()))
        self._world.pulse()
        return await self._answer(request, method, fields, files)

    async def _answer(
        self,
        request: web.Request,
        method: type[Method],
        fields: dict[str, str],
        files: dict[str, tuple[str, bytes]],
    ) -> web.StreamResponse:
        fault = self._fault(method.__api_method__)
        if fault is Fault.ERROR_500:
            return _refusal(ApiError(500, "Internal Server Error"))
        if fault is Fault.TOO_LARGE:
            return _refusal(ApiError(413, "Request Entity Too Large"))
        if fault is Fault.CUT_BEFORE:
            return _cut(request)
        shown = len(self._world.history)
        try:
            result = await self._result(method, fields, files)
        except ApiError as error:
            return _refusal(error)
        except Drift as drift:
            self.drift.append(drift)
            return _refusal(ApiError(500, str(drift)))
        finally:
            self._world.pulse()
        if fault in (Fault.CUT_AFTER, Fault.SILENT_AFTER, Fault.LOST_AFTER):
            self.unconfirmed.extend(self._world.history[shown:])
        if fault is Fault.LOST_AFTER:
            await asyncio.sleep(_LOST_S)
        if fault in (Fault.CUT_AFTER, Fault.LOST_AFTER):
            return _cut(request)
        if fault is Fault.SILENT_AFTER:
            await asyncio.Event().wait()
        if fault is Fault.SLOW_AFTER:
            await asyncio.sleep(1)
        return web.json_response({"ok": True, "result": result})

    def _fault(self, method: str) -> Fault | None:
        if faults := self._faults[method.lower()]:
            return faults.popleft()
        weather = self._traffic.weather
        if method not in SENDS:
            return None
        chances = {
            Fault.CUT_BEFORE: weather.cut_before,
            Fault.CUT_AFTER: weather.cut_after,
            Fault.SILENT_AFTER: weather.silent,
            Fault.LOST_AFTER: weather.lost,
        }
        return next((fault for fault, chance in chances.items() if self._traffic.falls(chance)), None)

    async def _result(self, method: type[Method], fields: dict[str, str], files: dict[str, tuple[str, bytes]]) -> Any:
        call = parsed(method, fields, files)
        chat = getattr(call, "chat_id", None)
        if isinstance(chat, int):
            self._traffic.take(method.__api_method__, chat)
        result = await self._methods.run(call)
        if method is not METHODS["getupdates"]:  # its updates were checked when they were added
            checked_answer(method, result)
        return json.loads(json.dumps(result))

    async def _download(self, request: web.Request) -> web.StreamResponse:
        if request.match_info["token"] != self.token:
            return _refusal(ApiError(401, "Unauthorized"))
        self.requests.append(Request("file", {"path": request.match_info["path"]}, self._world.clock()))
        self._world.pulse()
        fault = self._fault("file")
        if fault is Fault.ERROR_500:
            return _refusal(ApiError(500, "Internal Server Error"))
        if fault in (Fault.CUT_BEFORE, Fault.CUT_AFTER):
            return _cut(request)
        if fault is Fault.SILENT_AFTER:
            await asyncio.Event().wait()
        for file in self._world.files.values():
            if file.path == request.match_info["path"]:
                return web.Response(body=file.data)
        return _refusal(ApiError(404, "Not Found"))


def _refusal(error: ApiError) -> web.Response:
    body: dict[str, Any] = {"ok": False, "error_code": error.code, "description": error.description}
    if error.parameters is not None:
        body["parameters"] = dict(error.parameters)
    return web.json_response(body, status=error.code)


def _cut(request: web.Request) -> web.Response:
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
