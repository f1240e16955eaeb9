"""A backup holds the files that people sent as well, or is none."""

import asyncio
import json
import stat
from argparse import Namespace
from pathlib import Path

import pytest

from adapters.files import HomeFiles
from adapters.sqlite.store import open_store
from adapters.upkeep.backup import backup
from bridge.errors import Code, Refused


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)

    async def begin() -> None:
        await (await open_store(home / "tieline.db")).close()

    asyncio.run(begin())
    return home


def keep(home: Path, key: str, data: bytes) -> None:
    asyncio.run(HomeFiles(home / "files").keep(key, "photo.jpg", data))


def back_up(home: Path, path: Path) -> int:
    return backup(Namespace(json=True, path=str(path)), {"TIELINE_HOME": str(home)})


def test_what_people_sent_is_copied_beside_the_store_for_its_owner_alone(
    home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    keep(home, "a:1", b"one")
    keep(home, "a:2", b"two")
    (home / "files" / "a_2" / ".part").write_bytes(b"half")
    assert back_up(home, tmp_path / "copy.db") == 0
    made = json.loads(capsys.readouterr().out)
    beside = tmp_path / "copy.db.files"
    assert (made["files"], made["files_path"]) == (2, str(beside))
    copied = {str(path.relative_to(beside)): path.read_bytes() for path in beside.rglob("*") if path.is_file()}
    assert copied == {"a_1/photo.jpg": b"one", "a_2/photo.jpg": b"two"}
    assert {stat.S_IMODE(path.stat().st_mode) for path in beside.rglob("*.jpg")} == {0o600}
    assert stat.S_IMODE(beside.stat().st_mode) == 0o700


def test_without_files_the_store_stands_alone(home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert back_up(home, tmp_path / "copy.db") == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["files"], made["files_path"]) == (0, None)
    assert {path.name for path in tmp_path.iterdir()} == {"home", "copy.db"}


def test_files_that_cannot_be_copied_leave_no_half_backup(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(home, "a:1", b"one")

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shutil.copyfileobj", full)
    with pytest.raises(Refused, match="No space left") as refused:
        back_up(home, tmp_path / "copy.db")
    assert refused.value.code is Code.UNAVAILABLE
    assert [path.name for path in tmp_path.iterdir()] == ["home"]


def test_files_of_another_backup_are_not_overwritten(home: Path, tmp_path: Path) -> None:
    (tmp_path / "copy.db.files").mkdir()
    with pytest.raises(Refused, match="overwrites nothing") as refused:
        back_up(home, tmp_path / "copy.db")
    assert refused.value.code is Code.INVALID_REQUEST
    assert not (tmp_path / "copy.db").exists()
