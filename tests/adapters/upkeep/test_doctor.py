"""The doctor finds what is wrong, says what to do, and touches nothing."""

import json
import os
import sqlite3
from argparse import Namespace
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from adapters.sqlite.lock import HomeLock
from adapters.sqlite.store import open_store
from adapters.upkeep.doctor import doctor
from bridge.ports.store import Change
from tests.contracts.entities import message
from tests.fakes.damage import damage

Examine = Callable[[], tuple[int, dict[str, dict[str, Any]]]]

SETTINGS = '[agents.desk]\ncommand = ["python3"]\n[sessions.front]\nagent = "desk"\n'


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir(mode=0o700)
    (home / "tieline.toml").write_text(SETTINGS)
    return home


@pytest.fixture
def examine(home: Path, capsys: pytest.CaptureFixture[str]) -> Examine:
    def run() -> tuple[int, dict[str, dict[str, Any]]]:
        environ = {"TIELINE_HOME": str(home), "PATH": os.environ["PATH"], "HOME": str(home)}
        code = doctor(Namespace(json=True, agents=False), environ)
        found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert all(set(one) == {"check", "level", "text", "remedy"} for one in found)
        assert all(bool(one["remedy"]) == (one["level"] != "ok") for one in found)
        worst = sorted(found, key=lambda one: ["ok", "warn", "fail"].index(one["level"]))
        return code, {one["check"]: one for one in worst}

    return run


def marks(home: Path) -> dict[str, tuple[int, int]]:
    return {path.name: (path.stat().st_mtime_ns, path.stat().st_mode) for path in home.iterdir()}


def levels(found: dict[str, dict[str, Any]]) -> dict[str, str]:
    return {check: one["level"] for check, one in found.items() if one["level"] != "ok"}


def test_a_home_before_its_first_start_is_well(examine: Examine) -> None:
    code, found = examine()
    assert (code, levels(found)) == (0, {"bridge": "warn", "ballast": "warn"})


def test_a_home_that_is_not_there_is_told_and_not_made(examine: Examine, home: Path) -> None:
    (home / "tieline.toml").unlink()
    home.rmdir()
    code, found = examine()
    assert (code, levels(found)) == (70, {"home": "fail"})
    assert not home.exists()


def test_rules_that_can_never_match_are_told_but_for_those_of_another_profile(examine: Examine, home: Path) -> None:
    def rule(sender: str) -> str:
        return f'[[policy.rules]]\nfrom = "{sender}"\nto = "default/front"\nverbs = "send"\neffect = "allow"\n'

    (home / "tieline.toml").write_text(SETTINGS + rule("work/desk"))
    code, found = examine()
    assert (code, "rules" in found) == (0, False)
    (home / "tieline.toml").write_text(SETTINGS + rule("default/fornt") + rule("tag:none"))
    code, found = examine()
    assert (code, found["rules"]["level"]) == (0, "warn")
    assert found["rules"]["text"].startswith("policy.rules[0] (tieline.toml:5) can never match")
    assert found["rules"]["text"].endswith("and so it is with 1 other rule")
    assert found["settings"]["text"] == "1 session, 1 agent, 2 rules"


async def test_each_wrong_setting_is_a_line_with_its_remedy_and_the_rest_is_looked_at_all_the_same(
    examine: Examine, home: Path
) -> None:
    (home / "tieline.toml").write_text("[limits]\ndept = 3\n")
    await (await open_store(home / "tieline.db")).close()
    code, found = examine()
    assert code == 78
    assert "tieline.toml:2" in found["settings"]["text"]
    assert "depth" in found["settings"]["remedy"]
    assert found["store"]["level"] == "ok"


async def test_a_store_of_a_newer_version_keeps_a_bridge_from_starting(examine: Examine, home: Path) -> None:
    await (await open_store(home / "tieline.db")).close()
    with closing(sqlite3.connect(home / "tieline.db", isolation_level=None)) as connection:
        connection.execute("INSERT INTO migrations (number, name) VALUES (9999, 'of_later')")
    code, found = examine()
    assert (code, found["schema"]["level"]) == (78, "fail")


async def test_a_damaged_store_fails(examine: Examine, home: Path) -> None:
    path = home / "tieline.db"
    store = await open_store(path)
    for n in range(100):
        await store.commit(Change(puts=[message(f"m-{n}", text="x" * 1_000)]))
    await store.close()
    damage(path)
    code, found = examine()
    assert (code, found["store"]["level"]) == (70, "fail")
    assert "restore a backup" in found["store"]["remedy"]


def test_what_is_no_database_fails(examine: Examine, home: Path) -> None:
    (home / "tieline.db").write_bytes(b"no database at all, and long enough to be sure of that" * 40)
    code, found = examine()
    assert (code, found["store"]["level"]) == (70, "fail")


def test_what_others_may_read_is_told_and_left_as_it_is(examine: Examine, home: Path) -> None:
    (home / "tieline.toml").write_text('[telegram]\ntoken_file = "bot"\n')
    with (home / "tieline.toml").open("a") as file:
        file.write('[telegram.webhook]\nurl = "https://a.example/b"\nsecret_file = "word"\n')
    (home / "bot").write_text("123:abc")
    (home / "word").write_text("sesame")
    home.chmod(0o755)
    for path in home.iterdir():
        path.chmod(0o600)
    for secret in (home / "bot", home / "word"):
        secret.chmod(0o644)
        code, found = examine()
        assert (code, found["permissions"]["level"]) == (0, "warn")
        assert found["permissions"]["remedy"] == f"chmod 600 {secret}"
        secret.chmod(0o600)
    assert home.stat().st_mode & 0o777 == 0o755


async def test_an_entry_of_the_future_tells_that_the_clock_is_behind(examine: Examine, home: Path) -> None:
    store = await open_store(home / "tieline.db")
    await store.commit(Change(puts=[message(accepted_at=4e9)]))
    await store.close()
    code, found = examine()
    assert (code, found["clock"]["level"]) == (0, "warn")


def test_a_bridge_that_holds_the_home_and_does_not_answer_fails(examine: Examine, home: Path) -> None:
    lock = HomeLock(home / "tieline.lock")
    try:
        code, found = examine()
    finally:
        lock.release()
    assert (code, found["bridge"]["level"]) == (70, "fail")
    assert str(os.getpid()) in found["lock"]["text"]


def test_an_agent_whose_command_is_missing_is_told(examine: Examine, home: Path) -> None:
    (home / "tieline.toml").write_text(SETTINGS.replace("python3", "no-such-agent"))
    code, found = examine()
    assert (code, found["agents"]["level"]) == (0, "warn")
    assert "no-such-agent" in found["agents"]["text"]


async def test_it_writes_nothing(examine: Examine, home: Path) -> None:
    await (await open_store(home / "tieline.db")).close()
    before = marks(home)
    examine()
    assert marks(home).items() >= before.items()
