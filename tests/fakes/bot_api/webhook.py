"""Updates that are pushed to the bot, one after another, each until it is taken."""

import asyncio
import re
import time
from contextlib import suppress

import aiohttp

from tests.fakes.bot_api.updates import Updates
from tests.fakes.bot_api.world import Json, World, bad_request

_SECRET = re.compile(r"[A-Za-z0-9_-]{1,256}")
_FIRST_PAUSE_S = 0.02
_LONGEST_PAUSE_S = 0.5
_PATIENCE_S = 5


class Webhook:
    """Telegram pushes to https only. `fronts` tells which local address stands behind the beginning of a public one,
    as a proxy that ends TLS would. `refusals` counts what was pushed and not taken."""

    def __init__(self, world: World, updates: Updates) -> None:
        self._world = world
        self._updates = updates
        self._secret: str | None = None
        self._connections = 40
        self._pushing: asyncio.Task[None] | None = None
        self._error: Json = {}
        self.fronts: dict[str, str] = {}
        self.url = ""
        self.refusals = 0

    async def set(self, url: str, secret: str | None, connections: int) -> None:
        """An empty URL ends it. Raises `ApiError`."""
        if url and not url.startswith("https://"):
            raise bad_request("bad webhook: An HTTPS URL must be provided for webhook")
        if secret is not None and _SECRET.fullmatch(secret) is None:
            raise bad_request("secret token contains unallowed characters")
        await self.stop()
        self.url, self._secret, self._connections, self._error = url, secret, connections, {}
        self.start()
        self._world.pulse()

    def start(self) -> None:
        """Pushes, where a URL is set."""
        if self.url:
            self._pushing = asyncio.create_task(self._push())

    async def stop(self) -> None:
        if self._pushing is not None:
            self._pushing.cancel()
            with suppress(asyncio.CancelledError):
                await self._pushing
            self._pushing = None

    def info(self) -> Json:
        known: Json = {"url": self.url, "has_custom_certificate": False}
        known["pending_update_count"] = len(self._updates.pending)
        if self.url:
            known |= {"max_connections": self._connections, **self._error}
        if self._updates.allowed:
            known["allowed_updates"] = list(self._updates.allowed)
        return known

    async def _push(self) -> None:
        headers = {} if self._secret is None else {"X-Telegram-Bot-Api-Secret-Token": self._secret}
        pause_s = _FIRST_PAUSE_S
        async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=_PATIENCE_S), headers=headers) as client:
            while True:
                while not self._updates.pending:
                    await self._world.change()
                update = self._updates.pending[0]
                error = await self._refusal(client, update)
                if error is None:
                    self._updates.acknowledge(update["update_id"])
                    pause_s = _FIRST_PAUSE_S
                    continue
                self.refusals += 1
                self._error = {"last_error_date": int(time.time()), "last_error_message": error}
                self._world.pulse()
                await asyncio.sleep(pause_s)
                pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)

    async def _refusal(self, client: aiohttp.ClientSession, update: Json) -> str | None:
        try:
            async with client.post(self._address(), json=update) as answer:
                if 200 <= answer.status < 300:
                    return None
                return f"Wrong response from the webhook: {answer.status} {answer.reason}"
        except (aiohttp.ClientError, TimeoutError) as error:
            return str(error) or "Connection timed out"

    def _address(self) -> str:
        for public, local in self.fronts.items():
            if self.url.startswith(public):
                return local + self.url.removeprefix(public)
        return self.url
