"""Loads the settings of one home."""

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError
from pydantic_settings import BaseSettings, InitSettingsSource, PydanticBaseSettingsSource

from adapters.settings.build import built
from adapters.settings.checks import problems_between
from adapters.settings.explain import problems_of
from adapters.settings.home import SETTINGS_FILE, prepare
from adapters.settings.launch_checks import launch_problems
from adapters.settings.model import Settings
from adapters.settings.problems import Problem, SettingsError
from adapters.settings.schema import File
from adapters.settings.secret_files import Secrets, secrets_from_files
from adapters.settings.sources import Sources, read, read_file
from adapters.settings.zone import zone_problems


def load(home: Path, environ: Mapping[str, str]) -> Settings:
    """Makes the home (0700) if need be. Raises `SettingsError` with everything that is wrong."""
    try:
        prepare(home)
    except OSError as error:
        problem = Problem(str(home), f"this home cannot be used ({error.strerror})", "set TIELINE_HOME to another")
        raise SettingsError([problem]) from error
    return checked(home, environ)


def again(home: Path, environ: Mapping[str, str]) -> Settings:
    """As `load`, while a bridge runs by what was loaded. That the file is gone is a problem then: by an empty one it
    would close all its sessions."""
    if not (home / SETTINGS_FILE).exists():
        raise SettingsError([Problem(SETTINGS_FILE, "the file is not there any more", "put it back")])
    return checked(home, environ)


def checked(home: Path, environ: Mapping[str, str]) -> Settings:
    """As `load`, of a home that is left as it is."""
    sources = read(home, environ)
    return _built(sources, home, environ, secrets_from_files(sources, home, environ))


def drafted(path: Path, environ: Mapping[str, str]) -> Settings:
    """Of one file, wherever it is. The files of its secrets are not looked at, and need not be there."""
    try:
        sources = read_file(path, environ)
    except FileNotFoundError as error:
        raise SettingsError([Problem(str(path), "there is no such file", "name another one")]) from error
    return _built(sources, path.absolute().parent, environ, Secrets())


def _built(sources: Sources, home: Path, environ: Mapping[str, str], secrets: Secrets) -> Settings:
    file = _validated(sources)
    problems = [*(problems_of(file, sources) if isinstance(file, ValidationError) else ()), *problems_between(sources)]
    problems.extend(zone_problems(sources, environ))
    if isinstance(file, File):
        problems.extend(launch_problems(file, sources))
    problems.extend(each for each in (secrets.token, secrets.webhook) if isinstance(each, Problem))
    if problems or isinstance(file, ValidationError):
        raise SettingsError(problems)
    return built(file, sources, home, environ, secrets)


def _validated(sources: Sources) -> File | ValidationError:
    class Layered(File):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return InitSettingsSource(settings_cls, sources.environment), InitSettingsSource(settings_cls, sources.file)

    try:
        return Layered()
    except ValidationError as error:
        return error
