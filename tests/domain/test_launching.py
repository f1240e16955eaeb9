"""What a session may be started with, and what is refused before it is there."""

import json
from dataclasses import asdict
from typing import Any

import pytest

from bridge.errors import Code, Refused
from bridge.launching import Options, Server, check, options_from, problems

FILES = Server("files", ("mcp-files", "."), ("FILES_TOKEN",))
ALL = Options(
    model="opus",
    mode="plan",
    preamble="Answer in English.\nAlways.",
    servers=(FILES,),
    files=("docs/plan.md", "notes.md"),
    hooks=True,
    safe=True,
    label="nightly",
    fallback=("other",),
)


def test_everything_at_once_is_in_order_and_comes_back_from_json_as_it_was() -> None:
    check(ALL, agent="desk", cwd="/srv")
    assert options_from(json.loads(json.dumps(asdict(ALL)))) == ALL


@pytest.mark.parametrize(
    "given",
    [
        {"model": " "},
        {"model": "a\nb"},
        {"mode": "x" * 201},
        {"preamble": " \n"},
        {"preamble": " /compact"},
        {"preamble": "x" * 20_001},
        {"servers": (Server("tieline", ("x",)),)},
        {"servers": (Server("Files", ("x",)),)},
        {"servers": (Server("files", ()),)},
        {"servers": (FILES, FILES)},
        {"servers": (Server("files", ("x",), ("TIELINE_TOKEN",)),)},
        {"servers": tuple(Server(f"s{number}", ("x",)) for number in range(17))},
        {"files": ("/etc/passwd",)},
        {"files": ("~/notes",)},
        {"files": ("docs/../../x",)},
        {"files": ("",)},
        {"files": (".",)},
        {"files": ("a\0b",)},
        {"label": "Two words"},
        {"fallback": ("desk",)},
        {"fallback": ("a", "a")},
    ],
    ids=str,
)
def test_what_makes_no_sense_is_refused_with_the_name_of_the_option_and_a_remedy(given: dict[str, Any]) -> None:
    (option,) = given
    assert {one.option for one in problems(Options(**given), agent="desk", cwd="/srv")} == {option}
    with pytest.raises(Refused) as refused:
        check(Options(**given), agent="desk", cwd="/srv")
    assert refused.value.code is Code.INVALID_REQUEST
    assert refused.value.reason.startswith(f"{option} ")
    assert refused.value.remedy.endswith(".")


def test_safe_mode_takes_a_working_directory() -> None:
    assert [one.option for one in problems(Options(safe=True), agent="desk", cwd=None)] == ["safe"]


def test_a_session_without_an_agent_has_nothing_but_a_label() -> None:
    check(Options(label="cron"), agent=None, cwd=None)
    found = [one.option for one in problems(ALL, agent=None, cwd="/srv")]
    assert found == [name for name in asdict(ALL) if name != "label"]
