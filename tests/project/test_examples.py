"""What ships beside the code fits the code."""

import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from adapters.settings.load import load
from adapters.settings.schema import AgentTable, SessionTable, StoreTable, TelegramTable, WebTable
from bridge.limits import Limits

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "deploy" / "tieline.example.toml"


@pytest.mark.parametrize("settings", sorted(EXAMPLE.parent.glob("*.toml")), ids=lambda path: path.name)
def test_the_settings_that_ship_load(settings: Path, tmp_path: Path) -> None:
    (tmp_path / "tieline.toml").write_text(settings.read_text())
    (tmp_path / "telegram.token").write_text("123:example\n")
    loaded = load(tmp_path, {})
    assert loaded.sessions
    assert loaded.rules
    assert loaded.limits == Limits(), "what ships keeps the defaults, and the example shows them"


def test_the_example_explains_every_key() -> None:
    example = tomllib.loads(EXAMPLE.read_text())
    assert set(example["limits"]) | {"retention_s"} == {field.name for field in fields(Limits)}
    assert set(example["store"]) == set(StoreTable.model_fields)
    assert set(example["telegram"]) == set(TelegramTable.model_fields) - {"token"}
    assert set(example["web"]) == set(WebTable.model_fields)
    assert set(example["agents"]["desk"]) | set(example["agents"]["local"]) == set(AgentTable.model_fields)
    assert set(example["sessions"]["front-desk"]) == set(SessionTable.model_fields)
