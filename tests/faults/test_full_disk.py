"""A bridge whose disk is full, while it runs and when it starts, or can only be read."""

import resource
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.home import Home, exist
from tests.acceptance.processes import born, gone
from tests.fakes.small_disk import fill, make_read_only, small_disk


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    with small_disk(tmp_path / "home", 24) as disk:
        yield disk


LARGE = b"x" * 7_000


@pytest.mark.skipif(sys.platform != "linux", reason="the limit of a process is set from outside")
async def test_what_cannot_be_stored_is_refused_nothing_is_lost_and_it_works_at_once_when_there_is_room(
    tmp_path: Path,
) -> None:
    home = Home(tmp_path)
    home.session("box")
    home.rule("default/shell", "default/box")
    bridge = (await home.up())["pid"]
    try:
        kept = await home.tieline("send", "box", "kept", "--json")
        written = (tmp_path / "tieline.db-wal").stat().st_size
        soft, hard = resource.prlimit(bridge, resource.RLIMIT_FSIZE)
        resource.prlimit(bridge, resource.RLIMIT_FSIZE, (written, hard))
        ran = await home.tieline("send", "box", "-", "--key", "k", "--json", stdin=LARGE)
        assert (ran.code, ran.json["error"]["code"]) == (75, "unavailable")
        assert [one["message_id"] for one in await inbox(home)] == [kept.json["message_id"]]
        resource.prlimit(bridge, resource.RLIMIT_FSIZE, (soft, hard))
        again = await home.tieline("send", "box", "-", "--key", "k", "--json", stdin=LARGE)
        assert (again.code, again.json["duplicate"]) == (0, False)
        assert [one["text"][:4] for one in await inbox(home)] == ["kept", "xxxx"]
    finally:
        await home.close()


async def inbox(home: Home) -> list[dict[str, str]]:
    return (await home.tieline("inbox", "--session", "box", "--json")).lines


async def test_a_bridge_that_finds_no_room_at_its_start_says_so_ends_and_loses_nothing(disk: Path) -> None:
    home = Home(disk)
    home.worker("career", {"on": "mail", "script": f"touch {disk}/busy ; hang"})
    home.rule("default/shell", "default/career")
    home.limits(stop_grace_s=0.1)
    await home.up()
    sent = await home.tieline("send", "career", "hang on", "--wake", "--json")
    await exist(disk / "busy")
    workers = born(home.workers())
    await home.kill(workers=True)
    await gone(workers)  # one that ends later makes room again
    (disk / "ballast").unlink()
    filler = fill(disk)
    ran = await home.tieline("run")
    assert ran.code == 70
    assert "full" in ran.err.splitlines()[-1]
    filler.unlink()
    await home.up()
    try:
        trace = (await home.tieline("trace", sent.json["message_id"], "--json")).lines
        assert trace[0]["step"] == "decision"
    finally:
        await home.close()


async def test_a_bridge_whose_home_can_only_be_read_says_so_and_ends(disk: Path) -> None:
    home = Home(disk)
    home.write()
    make_read_only(disk)
    ran = await home.tieline("run")
    assert ran.code in (70, 78)
    assert "Read-only file system" in ran.err
    assert "Traceback" not in ran.err
