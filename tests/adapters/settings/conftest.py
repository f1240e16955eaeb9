"""A home whose settings a test writes."""

from collections.abc import Callable
from pathlib import Path

import pytest

from adapters.settings.load import load
from adapters.settings.model import Settings
from adapters.settings.problems import SettingsError

Load = Callable[..., Settings]
Problems = Callable[..., list[str]]


@pytest.fixture
def loaded(tmp_path: Path) -> Load:
    """Loads a text of settings, with the variables of the environment given by name."""

    def from_text(text: str, /, **environ: str) -> Settings:
        (tmp_path / "tieline.toml").write_text(text, encoding="utf-8")
        return load(tmp_path, {"HOME": "/home/somebody", **environ})

    return from_text


@pytest.fixture
def problems(loaded: Load) -> Problems:
    """The problems of a text of settings, as people see them."""

    def from_text(text: str, /, **environ: str) -> list[str]:
        with pytest.raises(SettingsError) as caught:
            loaded(text, **environ)
        return str(caught.value).splitlines()

    return from_text
