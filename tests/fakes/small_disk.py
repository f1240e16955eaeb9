"""A file system of its own that is soon full."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def small_disk(folder: Path, mebibytes: int) -> Iterator[Path]:
    """Skips the test where nobody may mount one."""
    mount = shutil.which("mount")
    folder.mkdir()
    options = ["-t", "tmpfs", "-o", f"size={mebibytes}m", "tmpfs", str(folder)]
    if mount is None or subprocess.run([mount, *options], capture_output=True, check=False).returncode:
        pytest.skip("it takes a right to mount file systems")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def fill(disk: Path) -> Path:
    """Takes all the room that there is, as one file."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        try:
            while file.write(b"x" * 4_096):
                pass
        except OSError:
            pass
    return filler


def make_read_only(disk: Path) -> None:
    """What a system does with a disk on which it has found errors."""
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
