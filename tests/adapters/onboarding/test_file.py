"""The file that a setup leaves is one that Tieline takes, whatever people are called."""

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adapters.onboarding.file import Desk, Office, handles, text_of, write
from adapters.onboarding.hearing import Somebody, shown
from adapters.onboarding.progress import Ground, Notebook, Progress, Topic, of_settings
from adapters.settings.load import load
from adapters.settings.problems import SettingsError

TOKEN = "123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
ANOTHER = "654321:BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBB"

titles = st.text(min_size=1, max_size=40).map(str.strip).filter(lambda text: text and text.isprintable())


def office(first: str = "Front Desk", second: str = "Career", name: str = "Ada", group: str = "Office") -> Office:
    desks = [
        Desk(handle, Topic(title, thread), "scripted")
        for handle, title, thread in zip(handles([first, second]), (first, second), (42, 43), strict=True)
    ]
    return Office(Somebody(111, shown(name)), Ground(-1001, shown(group)), tuple(desks))


@given(titles, titles, st.text(max_size=100), st.text(max_size=100))
def test_it_loads_whatever_is_called_what(first: str, second: str, name: str, group: str) -> None:
    read = tomllib.loads(text_of(office(first, second, name, group), "telegram.token"))
    assert [one["title"] for one in read["sessions"].values()] == [first, second]
    assert read["telegram"] == {"token_file": "telegram.token", "operators": [111], "users": [], "chats": [-1001]}


def test_what_it_says_is_what_was_set_up(tmp_path: Path) -> None:
    assert write(tmp_path, office(), TOKEN, {}) is None
    settings = load(tmp_path, {})
    assert settings.telegram is not None
    assert settings.telegram.token == TOKEN
    assert [one.id for one in settings.sessions] == ["default/front-desk", "default/career"]
    assert [(rule.senders, rule.recipients) for rule in settings.rules] == [
        (("default/front-desk",), ("default/career",))
    ]
    found = of_settings(settings)
    assert found is not None
    assert found.topics == (Topic("Front Desk", 42), Topic("Career", 43))
    assert found.ground == Ground(-1001, "")


def test_each_session_has_a_handle_of_its_own() -> None:
    assert handles(["Front Desk", "Career"]) == ["front-desk", "career"]
    assert handles(["Работа", "!!!"]) == ["topic-1", "topic-2"]
    assert handles(["A b", "a-B"]) == ["a-b", "topic-2"]
    assert handles(["Shell", "x" * 200]) == ["topic-1", "x" * 40]


@given(titles, titles)
def test_handles_are_names(first: str, second: str) -> None:
    one, other = handles([first, second])
    assert one != other
    assert {one, other}.isdisjoint({"", "shell"})


def test_what_the_settings_refuse_changes_nothing(tmp_path: Path) -> None:
    (tmp_path / "tieline.toml").write_text("# mine\n")
    with pytest.raises(SettingsError):
        write(tmp_path, office(), TOKEN, {"TIELINE_TELEGRAM__OPERATORS": "nobody"})
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"tieline.toml": "# mine\n"}


def test_an_earlier_file_and_its_token_are_kept(tmp_path: Path) -> None:
    write(tmp_path, office(), TOKEN, {})
    earlier = (tmp_path / "tieline.toml").read_text()
    for _ in range(2):
        backup = write(tmp_path, office(), ANOTHER, {})
        assert backup is not None
        assert backup.stat().st_mode & 0o077 == 0
    backups = sorted(path.name for path in tmp_path.glob("tieline.toml.*"))
    assert len(backups) == 2
    assert (tmp_path / backups[0]).read_text() == earlier
    assert (tmp_path / "telegram.token").read_text() == f"{TOKEN}\n", "the copy is still one that works"
    settings = load(tmp_path, {})
    assert settings.telegram is not None
    assert settings.telegram.token == ANOTHER


def test_notes_are_private_and_what_is_none_is_passed_over(tmp_path: Path) -> None:
    notebook = Notebook(tmp_path / "home")
    assert notebook.read() is None
    progress = Progress(TOKEN, "https://x/bot", Somebody(1, "Ada"), Ground(1, "Ada"), (Topic("A", 2),), ((7, "{}"),))
    notebook.note(progress)
    assert notebook.read() == progress
    assert TOKEN not in repr(progress)
    path = tmp_path / "home" / "init.json"
    assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    for odd in ("", "[]", '{"token": 1}', "{", '{"operator": {"id": "x"}}'):
        path.write_text(odd)
        assert notebook.read() is None
    notebook.close()
    notebook.close()
    assert not path.exists()
