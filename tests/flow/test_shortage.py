"""When the store has no room its operators hear of it, and again when it has some."""

from adapters.memory.store import MemoryStore
from bridge.errors import Code, Refused
from bridge.ids import Place
from bridge.ports.store import Change
from tests.flow.stage import session, stage

OFFICE = Place("room:office")


class Cramped(MemoryStore):
    """While `full`, it takes in nothing new; while `crammed`, nothing at all."""

    full = False
    crammed = False

    async def short(self) -> bool:
        return self.full

    async def commit(self, change: Change) -> None:
        if self.crammed or (self.full and change.admits):
            raise Refused(Code.UNAVAILABLE, "the disk is full")
        await super().commit(change)


async def test_operators_hear_once_that_the_disk_is_full_and_once_that_there_is_room_again() -> None:
    store = Cramped()
    async with stage(session("career"), store=store) as on:
        await on.quiet()
        store.full = True
        await on.clock.advance(60)
        assert (await on.refused("career", "hello")).code is Code.UNAVAILABLE
        (told,) = [post for post in on.chat.posts.values() if post.place == OFFICE]
        assert told.text.startswith("The disk is full")
        assert (await on.exchange.status(await on.shell())).store == "memory, without room"
        store.full = False
        await on.clock.advance(60)
        (told,) = [post for post in on.chat.posts.values() if post.place == OFFICE]
        assert "room again" in told.text
        assert (await on.exchange.status(await on.shell())).store == "memory"


async def test_the_next_full_disk_is_told_anew() -> None:
    store = Cramped()
    async with stage(session("career"), store=store) as on:
        for full in (True, False, True):
            await on.clock.advance(15)
            store.full = full
        await on.clock.advance(15)
        told = [post.text[:20] for post in on.chat.posts.values() if post.place == OFFICE]
        assert sorted(told) == ["The disk is full: no", "The disk was full; t"]


async def test_what_has_no_room_even_for_that_is_told_once_it_has() -> None:
    store = Cramped()
    async with stage(session("career"), store=store) as on:
        await on.quiet()
        store.full = store.crammed = True
        await on.clock.advance(30)
        store.crammed = False
        await on.clock.advance(30)
        assert [post.text[:16] for post in on.chat.posts.values() if post.place == OFFICE] == ["The disk is full"]
