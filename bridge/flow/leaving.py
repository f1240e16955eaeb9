"""Topics that are to go. Once an operator has confirmed that, none is made anew in its stead, and a bridge that dies
before it is gone goes on with it."""

from collections.abc import Mapping
from dataclasses import replace

from bridge.flow.work import Work
from bridge.ids import Place, scheme_of
from bridge.intake import Note
from bridge.ports.store import Store
from bridge.post import PostState

_SOURCE = "leaving"


async def leaving(store: Store) -> Mapping[Place, str]:
    """Those that are to go, each with the key of the post that is shown there last."""
    return {Place(note.key): note.text for note in await store.notes(_SOURCE) if note.text}


async def leave(work: Work, place: Place, last_words: str) -> None:
    known = {note.key: note for note in await work.store.notes(_SOURCE)}
    work.put(replace(known.get(place) or Note(_SOURCE, place, ""), text=last_words))


async def stay(work: Work, place: Place) -> None:
    """It could not be deleted."""
    await leave(work, place, "")


async def left(work: Work, place: Place) -> None:
    """Nothing leads to it any more, and what was still to be shown there is nobody's loss."""
    await leave(work, place, "")
    now = work.means.led(place)
    binding = await work.store.binding(now)
    if binding is not None:
        work.put(replace(binding, session=None, gone_at=work.now))
    for post in await work.store.pending_posts(scheme_of(now)):
        if post.place == now:
            work.put(replace(post, state=PostState.FAILED, error="its topic was deleted by its people"))
