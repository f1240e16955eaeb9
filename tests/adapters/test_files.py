"""What people send is kept once, for its owner alone, under a name that can do no harm."""

import os
import stat
from pathlib import Path

import pytest

from adapters.files import HomeFiles, harmless
from bridge.ports.files import Stored


@pytest.fixture
def files(tmp_path: Path) -> HomeFiles:
    return HomeFiles(tmp_path / "files")


def content(stored: Stored) -> bytes:
    return Path(stored.path).read_bytes()


def exists(stored: Stored) -> bool:
    return Path(stored.path).exists()


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("report.pdf", "report.pdf"),
        ("../../etc/passwd", "passwd"),
        ("..\\..\\system.ini", "system.ini"),
        (".bashrc", "bashrc"),
        ("a b;rm -rf $HOME.txt", "a_b_rm_-rf_HOME.txt"),
        ("gpj\u202e.exe", "gpj_.exe"),
        ("line\nbreak\x1b[2J\x00.txt", "line_break_2J_.txt"),
        ("Übersicht größer.md", "Übersicht_größer.md"),
        ("отчёт.docx", "отчёт.docx"),
        ("", "file"),
        ("...", "file"),
        ("/", "file"),
        ("\ud800.txt", "txt"),
        ("-rf", "rf"),
    ],
)
def test_a_name_keeps_what_is_harmless(given: str, kept: str) -> None:
    assert harmless(given) == kept


def test_a_long_name_keeps_its_suffix_and_fits_every_file_system() -> None:
    name = harmless("ü" * 300 + ".jpeg")
    assert name.endswith(".jpeg")
    assert len(name.encode()) <= 80


async def test_a_file_is_its_owners_alone(files: HomeFiles, tmp_path: Path) -> None:
    stored = await files.keep("telegram/1/2", "report.pdf", b"data")
    path = Path(stored.path)
    assert (content(stored), path.name, stored.size) == (b"data", "report.pdf", 4)
    assert tmp_path / "files" in path.parents
    modes = [stat.S_IMODE(os.stat(each).st_mode) for each in (path, path.parent, path.parent.parent)]
    assert modes == [0o600, 0o700, 0o700]


async def test_what_is_kept_under_a_key_stays_as_it_is(files: HomeFiles) -> None:
    first = await files.keep("one", "a.txt", b"first")
    assert await files.keep("one", "b.txt", b"second") == first
    assert await files.found("one") == first
    assert content(first) == b"first"
    other = await files.keep("two", "a.txt", b"second")
    assert other.path != first.path


async def test_what_a_crash_has_cut_off_is_written_anew(files: HomeFiles, tmp_path: Path) -> None:
    folder = tmp_path / "files" / "one"
    folder.mkdir(parents=True)
    (folder / ".part").write_bytes(b"fir")
    assert await files.found("one") is None
    assert content(await files.keep("one", "a.txt", b"first")) == b"first"


async def test_a_file_that_is_at_hand_is_copied(files: HomeFiles, tmp_path: Path) -> None:
    (tmp_path / "large").write_bytes(b"x" * 100_000)
    stored = await files.copy("one", "large.bin", str(tmp_path / "large"))
    assert stored.size == 100_000
    assert content(stored) == b"x" * 100_000


async def test_only_what_is_old_and_not_needed_goes(files: HomeFiles) -> None:
    old, needed, new = [await files.keep(key, "a.txt", b"data") for key in ("old", "needed", "new")]
    for one in (old, needed):
        os.utime(Path(one.path).parent, (100, 100))
    assert await files.sweep(1_000, {needed.path}) == 1
    assert [exists(one) for one in (old, needed, new)] == [False, True, True]
    assert await HomeFiles(Path("/nowhere")).sweep(1_000, ()) == 0
