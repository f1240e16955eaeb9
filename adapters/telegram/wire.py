"""The HTTP side of the bot. The token is put into requests below everything that logs or raises."""

import re
import ssl
from urllib.parse import quote, urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx
from telegram.error import NetworkError, TimedOut
from telegram.ext import ExtBot
from telegram.request import HTTPXRequest

from adapters.telegram.config import Patience, TelegramConfig
from adapters.telegram.limiter import ChatLimiter
from bridge.post import Urgency

_STAND_IN = "token-kept-secret"
"""What the library believes the token to be: it writes it into URLs, and those into logs and errors."""

_SENDING_CONNECTIONS = 8
_NEVER_LEFT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError, httpx.UnsupportedProtocol)

Bot = ExtBot[Urgency]


class Wire:
    """Opens what talks to the Bot API that is configured."""

    def __init__(self, config: TelegramConfig, patience: Patience) -> None:
        self.config = config
        self.patience = patience
        self._certificates = httpx.create_ssl_context()  # once, since reading them takes its time

    def bot(self, limiter: ChatLimiter) -> Bot:
        return ExtBot(
            token=_STAND_IN,
            base_url=self.config.base_url,
            base_file_url=re.sub(r"/bot\Z", "/file/bot", self.config.base_url),
            request=self._request(_SENDING_CONNECTIONS),
            get_updates_request=self.polling(),
            rate_limiter=limiter,
        )

    def url(self, method: str) -> str:
        """Where a method of the bot is asked for."""
        return f"{self.config.base_url}{_STAND_IN}/{method}"

    def polling(self) -> HTTPXRequest:
        """For one poll at a time, apart from the connections for sending, so that neither waits for the other."""
        return self._request(1)

    def _request(self, connections: int) -> HTTPXRequest:
        patience = self.patience
        return HTTPXRequest(
            read_timeout=patience.answer_s,
            write_timeout=patience.answer_s,
            connect_timeout=patience.connect_s,
            pool_timeout=patience.connect_s,
            httpx_kwargs={"transport": _TokenTransport(self.config, self._certificates, connections)},
        )


class _TokenTransport(httpx.AsyncBaseTransport):
    def __init__(self, config: TelegramConfig, certificates: ssl.SSLContext, connections: int) -> None:
        self._token = quote(config.token, safe=":").encode()
        self._inner = httpx.AsyncHTTPTransport(
            verify=certificates,
            limits=httpx.Limits(max_connections=connections),
            proxy=_proxy(config.base_url),
        )

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a copy: the client logs the request that it gave."""
        path = request.url.raw_path.replace(_STAND_IN.encode(), self._token, 1)
        sent = httpx.Request(
            request.method,
            request.url.copy_with(raw_path=path),
            headers=request.headers,
            stream=request.stream,
            extensions=request.extensions,
        )
        return await self._inner.handle_async_request(sent)

    async def aclose(self) -> None:
        await self._inner.aclose()


def _proxy(base_url: str) -> str | None:
    """The environment's proxy for that address: with a transport of one's own, httpx does not look for it."""
    url = urlsplit(base_url)
    if not url.hostname or proxy_bypass(url.hostname):
        return None
    proxies = getproxies()
    return proxies.get(url.scheme) or proxies.get("all")


def never_left(error: NetworkError) -> bool:
    """Whether the request surely did not reach Telegram."""
    return isinstance(error.__cause__, _NEVER_LEFT)


def stalled(error: Exception) -> bool:
    """Whether the connection may be dead without having been closed."""
    return isinstance(error, TimedOut | TimeoutError)
