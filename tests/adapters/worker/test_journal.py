"""What stands in a journal is what was written, or it is not used (DESIGN §8)."""

import json
import os
import resource
import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.worker.folder import BadName, Folder
from adapters.worker.journal import BEGUN, Journal, Record, read

TURN = "turn-1"
EVENTS = [("text", {"text": "hello"}), ("tool", {"id": "1", "name": "edit"}), ("result", {"final": "done"})]


def written(folder: Path, turn: str = TURN) -> Path:
    path = folder / f"{turn}.journal"
    journal = Journal(path, turn, {"who": "me"})
    for kind, body in EVENTS:
        journal.add(kind, body, firmly=True)
    journal.close()
    return path


def kinds(records: tuple[Record, ...]) -> list[str]:
    return [record.kind for record in records]


def test_what_was_written_is_read_again(tmp_path: Path) -> None:
    found = read(written(tmp_path), TURN)
    assert found.damage is None
    assert found.header == {"who": "me"}
    assert [(one.number, one.kind, one.body) for one in found.records[1:]] == [
        (number, kind, body) for number, (kind, body) in enumerate(EVENTS, 1)
    ]


def test_only_its_owner_can_read_it(tmp_path: Path) -> None:
    assert written(tmp_path).stat().st_mode & 0o777 == 0o600


def test_there_is_one_journal_a_turn(tmp_path: Path) -> None:
    written(tmp_path)
    with pytest.raises(FileExistsError):
        written(tmp_path)


def test_the_same_events_have_the_same_receipts(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    first, second = read(written(tmp_path), TURN), read(written(tmp_path / "other"), TURN)
    assert [one.digest for one in first.records] == [one.digest for one in second.records]


def test_another_turns_journal_is_not_used(tmp_path: Path) -> None:
    found = read(written(tmp_path), "turn-2")
    assert found.records == ()
    assert found.damage


@given(st.data())
def test_cut_short_anywhere_it_holds_a_beginning_of_what_was_written(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = written(tmp_path_factory.mktemp("cut"))
    whole = path.read_bytes()
    path.write_bytes(whole[: data.draw(st.integers(0, len(whole) - 1))])
    found = read(path, TURN)
    assert kinds(found.records) == [BEGUN, "text", "tool", "result"][: len(found.records)]
    assert len(found.records) < 4


@given(st.data())
def test_a_flipped_bit_ends_what_is_believed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = written(tmp_path_factory.mktemp("flip"))
    whole = bytearray(path.read_bytes())
    honest = read(path, TURN).records
    at, bit = data.draw(st.integers(0, len(whole) - 1)), data.draw(st.integers(0, 7))
    whole[at] ^= 1 << bit
    path.write_bytes(whole)
    found = read(path, TURN)
    line = bytes(whole[:at]).count(b"\n")
    assert found.records == honest[: len(found.records)]
    # What differs only in how it is written down says the same: a space, the case of a digit of an escape.
    assert len(found.records) == line or found.records == honest


@pytest.mark.parametrize("line", range(4))
def test_a_repeated_record_ends_what_is_believed(tmp_path: Path, line: int) -> None:
    path = written(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[: line + 1], lines[line], *lines[line + 1 :]]))
    found = read(path, TURN)
    assert len(found.records) == line + 1
    assert found.damage


@pytest.mark.parametrize(("one", "other"), [(1, 2), (2, 3), (0, 3)])
def test_records_in_another_order_are_not_believed(tmp_path: Path, one: int, other: int) -> None:
    path = written(tmp_path)
    lines = path.read_bytes().splitlines(keepends=True)
    lines[one], lines[other] = lines[other], lines[one]
    path.write_bytes(b"".join(lines))
    found = read(path, TURN)
    assert len(found.records) == one
    assert found.damage


def test_a_record_of_another_journal_is_not_believed(tmp_path: Path) -> None:
    path, other = written(tmp_path), written(tmp_path, "turn-2")
    lines, theirs = path.read_bytes().splitlines(keepends=True), other.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:3], theirs[3]]))
    assert kinds(read(path, TURN).records) == [BEGUN, "text", "tool"]


@pytest.mark.parametrize("line", [b"{}", b"[]", b"null", b'{"record": 1}', b"[" * 9_000, b"\xff\xfe", b'"'])
def test_what_is_no_record_ends_what_is_believed(tmp_path: Path, line: bytes) -> None:
    path = written(tmp_path)
    path.write_bytes(path.read_bytes() + line + b"\n")
    found = read(path, TURN)
    assert len(found.records) == 4
    assert found.damage


def test_what_is_not_there_or_is_no_file_is_damaged(tmp_path: Path) -> None:
    assert read(tmp_path / "none.journal", TURN).damage
    assert read(tmp_path, TURN).damage


def test_a_writer_knows_when_its_file_is_no_longer_what_it_wrote(tmp_path: Path) -> None:
    path = tmp_path / "turn-1.journal"
    journal = Journal(path, TURN, {})
    journal.add("text", {"text": "one"}, firmly=False)
    journal.add("text", {"text": "two"}, firmly=False)
    assert [one.body["text"] for one in journal.since(1) or ()] == ["two"]
    path.write_bytes(path.read_bytes().replace(b"one", b"won"))
    assert journal.since(0) is None
    path.write_bytes(b"")
    assert journal.since(0) is None
    path.unlink()
    assert journal.since(0) is None
    journal.close()


def test_a_disk_that_takes_no_more_leaves_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "turn-1.journal"
    journal = Journal(path, TURN, {})
    journal.add("text", {"text": "kept"}, firmly=True)
    size = path.stat().st_size
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 50, limits[1]))
    try:
        with pytest.raises(OSError, match=r"."):
            journal.add("text", {"text": "x" * 500}, firmly=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)
    assert path.stat().st_size == size
    journal.add("text", {"text": "later"}, firmly=True)
    assert [one.body.get("text") for one in read(path, TURN).records] == [None, "kept", "later"]
    journal.close()


@pytest.mark.parametrize("name", ["", "../x", "a/b", "a.b", "x" * 201, "a b", "ä", "a\n", ".."])
def test_a_name_leads_nowhere_else(tmp_path: Path, name: str) -> None:
    folder = Folder(tmp_path)
    for of in (folder.journal, folder.listen, folder.connect, folder.forget):
        with pytest.raises(BadName):
            of(name)
    assert os.listdir(tmp_path) == []


def test_a_record_is_one_line_whatever_it_holds(tmp_path: Path) -> None:
    path = tmp_path / "turn-1.journal"
    journal = Journal(path, TURN, {})
    nasty = {"text": 'a\nb\u2028"\x00\ud800'}
    journal.add("text", nasty, firmly=False)
    assert len(path.read_bytes().splitlines()) == 2
    assert json.loads(path.read_bytes().splitlines()[1])["record"]["body"] == nasty
    assert read(path, TURN).damage is None
    journal.close()
