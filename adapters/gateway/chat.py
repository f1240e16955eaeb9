"""A gateway's places behind the port of a chat: it shows what the bridge has to say there."""

import asyncio
from collections.abc import Callable, Sequence

from adapters.gateway.frames import Frame, flag, maybe, text
from adapters.gateway.hub import Hub
from bridge.ids import Place
from bridge.markdown import unescaped
from bridge.ports.chat import Ambiguous, NotDelivered, WithoutTopics
from bridge.post import Part, Post

_SHOWN_S = 60.0
_LATER_S = 30.0


class GatewayChat(WithoutTopics):
    """`bridge.ports.chat.Chat` of the scheme that is the gateway's name. Plain text without buttons: people decide in
    a terminal, or in an operator's own chat."""

    def __init__(self, name: str, hub: Hub, now: Callable[[], float]) -> None:
        self._name = name
        self._hub = hub
        self._now = now
        self._waiting: dict[str, asyncio.Future[str]] = {}

    @property
    def scheme(self) -> str:
        return self._name

    def compose(self, text: str, *, rich: bool = False) -> Sequence[Part]:
        """The gateway splits and formats it as its own chat needs it."""
        return [Part(unescaped(text) if rich else text)] if text else []

    def may_talk(self, person: str, place: Place) -> bool:
        return False

    def attended(self, place: Place) -> bool:
        return False

    def reports(self) -> Sequence[Place]:
        return ()

    def link(self, receipt: str) -> str | None:
        return None

    async def glimpse(self, place: Place, about: str, text: str) -> bool:
        """A gateway shows its own turns by itself."""
        return False

    async def deliver(self, post: Post) -> str:
        """Waits for the gateway where it is away, which costs nothing. It shows once what it was sent twice."""
        link = await self._hub.ready(self._name)
        shown = asyncio.get_running_loop().create_future()
        key = post.place.partition(":")[2]
        self._waiting[post.id] = shown
        try:
            fields = {"key": key, "text": post.text, "kind": post.kind.value, "receipt": post.receipt}
            if not link.send("post", id=post.id, **fields):
                raise Ambiguous("the gateway went away")
            async with asyncio.timeout(_SHOWN_S):
                return str(await shown)
        except TimeoutError:
            raise Ambiguous("the gateway did not say whether it was shown") from None
        finally:
            if self._waiting.get(post.id) is shown:
                del self._waiting[post.id]

    def told(self, frame: Frame) -> None:
        """`posted` or `not_posted`, of a post that is waited for or not."""
        shown = self._waiting.get(text(frame, "id"))
        if shown is None or shown.done():
            return
        if frame["type"] == "posted":
            shown.set_result(text(frame, "receipt"))
            return
        reason = maybe(frame, "reason", most=1_000) or "the gateway does not say why"
        again = self._now() + _LATER_S if flag(frame, "later") else None
        shown.set_exception(NotDelivered(reason, retry_at=again))

    def gone(self) -> None:
        """Nobody is there any more who could say whether what is waited for was shown."""
        for shown in self._waiting.values():
            if not shown.done():
                shown.set_exception(Ambiguous("the gateway went away"))
