"""Links between the two posts of a handoff, so that people find the other one."""

from dataclasses import replace

from bridge.flow.work import Work
from bridge.ids import SessionId
from bridge.post import Button, Post, PostState

_SIDES = {"from": "to", "to": "from"}


async def interlink(work: Work, key: str) -> None:
    """Once both posts of a handoff have been shown, each leads to the other; but only where both can be followed: who
    is at the one place may not be at the other, and is not told more of it than that it is there."""
    begin, _, side = key.rpartition(":")
    one, other = await work.post(key), await work.post(f"{begin}:{_SIDES.get(side, '')}")
    if one is None or other is None or one.place == other.place:
        return
    to_one, to_other = _link(work, one), _link(work, other)
    message = await work.message(one.message) if one.message is not None else None
    if to_one is None or to_other is None or message is None:
        return
    parties = {"from": message.sender, "to": message.recipient}
    await _lead(work, one, to_other, parties[_SIDES[side]])
    await _lead(work, other, to_one, parties[side])


def _link(work: Work, post: Post) -> str | None:
    chat = work.means.chat_of(post.place)
    return chat.link(post.receipt) if chat is not None and post.receipt is not None else None


async def _lead(work: Work, post: Post, url: str, to: SessionId) -> None:
    session = await work.session(to)
    link = Button(f"Open in {session.title if session is not None else to}"[:40], url=url)
    if link not in post.buttons:
        own = tuple(button for button in post.buttons if button.url is None)
        work.put(replace(post, buttons=(*own, link), state=PostState.PENDING))
        work.then(work.wake.outbox)
