"""The log of agents' stderr: private, bounded, without secrets, and in nobody's way (DESIGN §8)."""

import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adapters.acp.tail import CUT, LONGEST, Tail
from adapters.worker.log import MOST, WorkerLog
from bridge.redaction import HIDDEN, Redaction
from tests.adapters.worker.families import ROOT

SECRET = "correct horse battery staple"
SHAPED = "sk-abcdefghijklmnopqrstuvwxyz123456"
KEY = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nBAQEFAASCBKcwggSjAgEAAo\n-----END PRIVATE KEY-----"

_WRITER = """
import sys
from pathlib import Path
from adapters.worker.log import WorkerLog
log = WorkerLog(Path(sys.argv[1]), lambda line: line, print)
for number in range(int(sys.argv[3])):
    while not log._lines.empty() and log._lines.qsize() > 500:
        pass
    log.line(sys.argv[2], f"{number:06} " + sys.argv[2] * 200)
print(log.close(60))
"""


def lines_of(path: Path) -> list[str]:
    return path.read_text().splitlines()


def written(path: Path, *lines: str, secrets: tuple[str, ...] = ()) -> list[str]:
    """What the log tells of itself."""
    warnings: list[str] = []
    log = WorkerLog(path, Redaction(secrets).redacted, warnings.append)
    for line in lines:
        log.line("default/desk", line)
    assert log.close(10)
    return warnings


@contextmanager
def room_for(size: int) -> Iterator[None]:
    """No file may be longer, as on a disk that is full."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)


@pytest.mark.parametrize("before", [None, 0o666])
def test_only_its_owner_can_read_it(tmp_path: Path, before: int | None) -> None:
    path = tmp_path / "logs" / "agents.log"
    if before is not None:
        path.parent.mkdir()
        path.touch()
        path.chmod(before)
    assert written(path, "hello") == []
    assert path.stat().st_mode & 0o777 == 0o600
    assert lines_of(path)[0].endswith("Z default/desk: hello")


def test_it_is_rotated_once(tmp_path: Path) -> None:
    path = tmp_path / "agents.log"
    for _ in range(4):
        written(path, *["x" * 4_000] * 200)
    sizes = [one.stat().st_size for one in sorted(tmp_path.iterdir())]
    assert len(sizes) == 2
    assert all(size <= MOST for size in sizes)
    assert sizes[1] > MOST - 5_000
    assert all(one.stat().st_mode & 0o777 == 0o600 for one in tmp_path.iterdir())


def test_several_workers_write_whole_lines_and_no_more_than_two_files_hold(tmp_path: Path) -> None:
    path = tmp_path / "agents.log"
    command = [sys.executable, "-c", _WRITER, str(path)]
    writers = [
        subprocess.Popen([*command, name, "4000"], cwd=ROOT, stdout=subprocess.PIPE, text=True) for name in "abc"
    ]
    assert [writer.communicate(timeout=60)[0] for writer in writers] == ["True\n"] * 3
    files = sorted(tmp_path.iterdir())
    assert [one.name for one in files] == ["agents.log", "agents.log.1"]
    assert sum(one.stat().st_size for one in files) <= 2 * MOST + 3 * 300
    last: dict[str, int] = {}
    for line in [*lines_of(files[1]), *lines_of(files[0])]:
        _, name, number, text = line.split(" ")
        assert text == name[0] * 200
        assert int(number) > last.get(name, -1)
        last[name] = int(number)
    assert max(last.values()) == 3_999


def test_a_disk_that_is_full_is_told_of_once_and_tears_no_other_line(tmp_path: Path) -> None:
    path = tmp_path / "agents.log"
    warnings: list[str] = []
    taken = threading.Semaphore(0)

    def hide(line: str) -> str:
        taken.release()
        return line

    log = WorkerLog(path, hide, warnings.append)
    log.line("a", "first")
    with room_for(120):
        for _ in range(5):
            log.line("a", "x" * 60)
        # Once the last is taken, the one before it was tried.
        for _ in range(6):
            assert taken.acquire(timeout=10)
    log.line("a", "last")
    assert log.close(10)
    assert len(warnings) == 1
    assert "takes no more lines" in warnings[0]
    assert lines_of(path)[0].endswith("a: first")
    assert lines_of(path)[-1].endswith("Z a: last")


@pytest.mark.parametrize("what", ["a directory", "a pipe that nobody reads", "no folder to make"])
def test_where_nothing_can_be_written_nobody_waits(tmp_path: Path, what: str) -> None:
    path = tmp_path / "agents.log"
    if what == "a directory":
        path.mkdir()
    elif what == "no folder to make":
        path.touch()
        path = path / "agents.log"
    else:
        os.mkfifo(path)
    assert len(written(path, *["x"] * 3_000)) == 1


def test_a_pipe_that_is_read_no_more_holds_nobody_up(tmp_path: Path) -> None:
    path = tmp_path / "agents.log"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert len(written(path, *["x" * 1_000] * 500)) == 1
    finally:
        os.close(reader)


def test_a_writer_that_hangs_is_not_waited_for(tmp_path: Path) -> None:
    release = threading.Event()
    log = WorkerLog(tmp_path / "agents.log", lambda line: line * release.wait(20), print)
    for number in range(2_000):
        log.line("a", str(number))
    assert not log.close(0.05)
    release.set()


def test_what_comes_too_fast_is_counted(tmp_path: Path) -> None:
    release = threading.Event()
    path = tmp_path / "agents.log"
    log = WorkerLog(path, lambda line: line * release.wait(20), print)
    for number in range(3_000):
        log.line("a", str(number))
    release.set()
    assert log.close(20)
    left_out = sum(int(line[1:].split(" ")[0]) for line in lines_of(path) if line.endswith("are left out]"))
    told = sum(" a: " in line for line in lines_of(path))
    assert left_out > 1_000
    assert told + left_out == 3_000


def test_secrets_are_in_no_line(tmp_path: Path) -> None:
    path = tmp_path / "agents.log"
    written(path, f"it is {SECRET}!", f"and {SHAPED}", secrets=(SECRET,))
    text = path.read_text()
    assert SECRET not in text
    assert SHAPED not in text
    assert text.count(HIDDEN) == 2


# What comes of stderr before
@pytest.mark.parametrize("secret", [SECRET, SHAPED])
def test_a_secret_that_comes_in_two_reads_is_in_no_line(secret: str) -> None:
    for at in range(1, len(secret)):
        lines: list[str] = []
        tail = Tail(lines.append, hidden=[SECRET])
        tail.feed(f"a {secret[:at]}".encode())
        tail.feed(f"{secret[at:]} b\n".encode())
        tail.end()
        assert lines == [f"a {HIDDEN} b"]
        assert tail.text == lines[0]


@pytest.mark.parametrize("hidden", [[], [KEY]])
def test_a_key_of_several_lines_is_in_none(hidden: list[str]) -> None:
    lines: list[str] = []
    tail = Tail(lines.append, hidden=hidden)
    tail.feed(f"before\n{KEY}\nafter\n".encode())
    assert (lines[0], lines[-1]) == ("before", "after")
    assert not any(part in line for part in KEY.splitlines()[1:3] for line in lines)
    assert "MIIE" not in tail.text


@pytest.mark.parametrize("ends", ["\n", ""])
def test_a_line_without_end_is_cut(ends: str) -> None:
    lines: list[str] = []
    tail = Tail(lines.append)
    for _ in range(100):
        tail.feed(b"x" * 10_000)
    tail.feed(f"{ends}next\n".encode())
    tail.end()
    assert len(lines[0]) == CUT + len(" [cut]")
    assert lines[1:] == (["next"] if ends else [])


def test_a_secret_at_the_cut_is_not_shown_by_half() -> None:
    lines: list[str] = []
    tail = Tail(lines.append, hidden=[SECRET])
    for at in range(CUT - len(SECRET), CUT + 1):
        tail.feed(("x" * at + SECRET + "x" * LONGEST + "\n").encode())
    assert not any(SECRET[:4] in line for line in lines)


def test_a_line_that_is_just_not_too_long_is_whole() -> None:
    lines: list[str] = []
    tail = Tail(lines.append)
    tail.feed(b"x" * LONGEST + b"\n" + b"y" * (LONGEST + 1) + b"\n")
    assert [len(line) for line in lines] == [LONGEST, CUT + len(" [cut]")]
