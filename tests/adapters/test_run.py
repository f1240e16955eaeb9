"""What keeps a bridge from starting is told in one line with what to do, and by the exit code."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from adapters.run import CONFIG, FAILED, run


@pytest.mark.parametrize("in_the_way", ["logs", "run"])
def test_what_is_in_the_way_in_the_home_is_named(
    in_the_way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "tieline.toml").touch()
    (tmp_path / in_the_way).touch()
    assert run([], {"TIELINE_HOME": str(tmp_path)}) == FAILED
    told = capsys.readouterr()
    assert told.out == ""
    assert in_the_way in told.err
    assert len(told.err.splitlines()) == 1


def test_a_store_of_a_newer_version_is_told_plainly(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tieline.toml").touch()
    with closing(sqlite3.connect(tmp_path / "tieline.db")) as newer:
        newer.execute("CREATE TABLE migrations (number INTEGER PRIMARY KEY, name TEXT NOT NULL)")
        newer.execute("INSERT INTO migrations VALUES (9999, 'of_later')")
        newer.commit()
    assert run([], {"TIELINE_HOME": str(tmp_path)}) == CONFIG
    (told,) = capsys.readouterr().err.splitlines()
    assert "install the Tieline that last used it" in told
