"""What a session's agent is started with, as the agent itself sees it."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from adapters.acp import AgentSpec
from adapters.acp.files import MOST_BYTES
from adapters.acp.models import Choice
from bridge.history import digest
from bridge.launching import Definition, Options, Server
from bridge.ports.runtime import Context, Prompt, StartFailed
from bridge.turn import Failure, FailureKind
from tests.adapters.acp.bench import TOOL_SERVER, Bench, Ear


async def failure_of(bench: Bench, spec: AgentSpec | None = None, **options: Any) -> Failure:
    """Why it cannot be started so. Nothing was prompted."""
    with pytest.raises(StartFailed) as failed:
        await bench.start(bench.runtime(spec), options=Options(**options))
    if (bench.folder / "received.jsonl").exists():
        assert bench.received("session/prompt") == []
    assert failed.value.failure.kind is FailureKind.CONFIG
    return failed.value.failure


def prompts(bench: Bench) -> list[list[Any]]:
    """The texts of each prompt, those of resources with their addresses."""
    return [
        [
            (block["resource"]["uri"], block["resource"]["text"]) if block["type"] == "resource" else block["text"]
            for block in frame["params"]["prompt"]
        ]
        for frame in bench.received("session/prompt")
    ]


def looked_into(folder: Path) -> tuple[int, list[str]]:
    """Its mode, and the names of what it holds."""
    return folder.stat().st_mode & 0o777, [one.name for one in folder.iterdir()]


# Model and mode


async def test_the_model_is_set_by_the_option_that_the_agent_offers_for_it(bench: Bench) -> None:
    spec = bench.spec("--models", "haiku,opus")
    agent = await bench.start(bench.runtime(spec), options=Options(model="opus"))
    [frame] = bench.received("session/set_config_option")
    assert frame["params"] == {"sessionId": agent.alias, "configId": "model", "value": "opus"}
    assert (await bench.say(agent, "do: say $model")).final == "opus"


async def test_the_model_that_it_has_already_is_not_set_again(bench: Bench) -> None:
    await bench.start(bench.runtime(bench.spec("--models", "haiku,opus")), options=Options(model="haiku"))
    assert bench.received("session/set_config_option") == []


async def test_the_model_is_set_again_where_a_context_is_resumed(bench: Bench) -> None:
    spec = bench.spec("--models", "haiku,opus")
    first = await bench.start(bench.runtime(spec), options=Options(model="opus"))
    await bench.say(first, "hello")
    await first.close()
    again = await bench.start(bench.runtime(spec), first.alias, options=Options(model="opus"))
    assert again.context is Context.RESUMED
    assert (await bench.say(again, "do: say $model")).final == "opus"


@pytest.mark.parametrize(
    ("options", "told"),
    [((), "it offers no choice of models"), (("--models", "haiku,opus"), "it offers haiku, opus")],
)
async def test_a_model_that_is_not_offered_is_a_matter_of_configuration(
    bench: Bench, options: Sequence[str], told: str
) -> None:
    failed = await failure_of(bench, bench.spec(*options), model="sonnet")
    assert "the model 'sonnet'" in failed.detail
    assert told in failed.detail


async def test_a_model_that_cannot_be_set_is_one_too(bench: Bench) -> None:
    spec = bench.spec("--models", "a,b", rules=[{"on": "session/set_config_option", "script": "fail not now"}])
    assert "not now" in (await failure_of(bench, spec, model="b")).detail


# The older way of agents that offer models beside their options


async def test_a_model_that_is_offered_beside_the_options_is_set_by_a_request_of_its_own(bench: Bench) -> None:
    spec = bench.spec("--models", "custom:haiku,custom:opus", "--choice", "models")
    first = await bench.start(bench.runtime(spec), options=Options(model="custom:opus"))
    [frame] = bench.received("session/set_model")
    assert frame["params"] == {"sessionId": first.alias, "modelId": "custom:opus"}
    assert (await bench.say(first, "do: say $model")).final == "custom:opus"
    await first.close()
    again = await bench.start(bench.runtime(spec), first.alias, options=Options(model="custom:opus"))
    assert again.context is Context.RESUMED
    assert (await bench.say(again, "do: say $model")).final == "custom:opus"


async def test_one_that_is_set_already_is_not_set_again_in_that_way_either(bench: Bench) -> None:
    spec = bench.spec("--models", "haiku,opus", "--choice", "models")
    await bench.start(bench.runtime(spec), options=Options(model="haiku"))
    assert bench.received("session/set_model") == []


async def test_one_that_is_not_offered_there_is_a_matter_of_configuration(bench: Bench) -> None:
    spec = bench.spec("--models", "haiku,opus", "--choice", "models")
    assert "it offers haiku, opus" in (await failure_of(bench, spec, model="sonnet")).detail


async def test_one_that_cannot_be_set_there_is_one_too(bench: Bench) -> None:
    rules = [{"on": "session/set_model", "script": "fail not now"}]
    spec = bench.spec("--models", "a,b", "--choice", "models", rules=rules)
    assert "not now" in (await failure_of(bench, spec, model="b")).detail


@pytest.mark.parametrize("said", [None, [], {"availableModels": None}, {"availableModels": [None, {"modelId": 1}]}])
def test_what_is_no_offer_of_models_offers_none(said: Any) -> None:
    choice = Choice.of({"models": said})
    assert choice is None or choice.offered == ()


async def test_the_sessions_mode_goes_before_that_of_its_agent(bench: Bench) -> None:
    agent = await bench.start(bench.runtime(bench.spec(mode="default")), options=Options(mode="read-only"))
    [frame] = bench.received("session/set_mode")
    assert frame["params"] == {"sessionId": agent.alias, "modeId": "read-only"}


async def test_a_mode_that_is_refused_keeps_the_agent_from_running(bench: Bench) -> None:
    spec = bench.spec(rules=[{"on": "session/set_mode", "script": "fail no such mode"}])
    assert "'yolo'" in (await failure_of(bench, spec, mode="yolo")).detail


# Servers


async def test_further_servers_stand_beside_the_bridges_own_with_variables_of_the_agents_environment(
    bench: Bench,
) -> None:
    spec = bench.spec(env={"FILES_TOKEN": "s3cret"})
    server = Server("files", TOOL_SERVER, ("FILES_TOKEN", "HOMELESS"))
    agent = await bench.start(bench.runtime(spec, tools=True), options=Options(servers=(server,)))
    [frame] = bench.received("session/new")
    assert [one["name"] for one in frame["params"]["mcpServers"]] == ["tieline", "files"]
    assert frame["params"]["mcpServers"][1]["env"] == [{"name": "FILES_TOKEN", "value": "s3cret"}]
    await bench.say(agent, "hello")
    await agent.close()
    await bench.start(bench.runtime(spec, tools=True), agent.alias, options=Options(servers=(server,)))
    [loaded] = bench.received("session/load")
    assert loaded["params"]["mcpServers"] == frame["params"]["mcpServers"]


# Before the first prompt


async def test_preamble_and_files_come_before_the_first_prompt_of_a_context_and_no_other(bench: Bench) -> None:
    (bench.cwd / "docs").mkdir()
    plan = bench.cwd / "docs" / "plan.md"
    plan.write_text("Step one – begin.")
    options = Options(preamble="Answer in English.", files=("docs/plan.md",))
    agent = await bench.start(options=options)
    assert agent.opening == ["Answer in English.", "Step one – begin."]
    await bench.say(agent, "do: say so")
    assert agent.opening == []
    await bench.say(agent, "do: say so again")
    await agent.close()
    again = await bench.start(alias=agent.alias, options=options)
    await bench.say(again, "do: say so once more")
    first, *others = prompts(bench)
    assert first == ["Answer in English.", (plan.as_uri(), "Step one – begin."), "do: say so"]
    assert others == [["do: say so again"], ["do: say so once more"]]


async def test_what_comes_first_is_told_again_where_no_prompt_has_come_to_its_end(bench: Bench) -> None:
    agent = await bench.start(options=Options(preamble="Answer in English."))
    failed = await bench.say(agent, "do: fail HTTP 529: overloaded")
    assert failed.failure is not None
    await bench.say(agent, "do: say so")
    assert [one[0] for one in prompts(bench)] == ["Answer in English."] * 2


async def test_a_history_that_is_replayed_shows_the_first_prompt_as_it_was_sent(bench: Bench) -> None:
    agent = await bench.start(options=Options(preamble="Answer in English."))
    sent = digest([*agent.opening, *Prompt(words="hello").parts])
    await bench.say(agent, "hello")
    assert agent.history.prompts == (sent,)
    await agent.close()
    again = await bench.start(alias=agent.alias, options=Options(preamble="Answer in English."))
    assert again.history.prompts == (sent,)


async def test_a_context_that_is_lost_begins_with_it_again(bench: Bench) -> None:
    agent = await bench.start(alias="gone", options=Options(preamble="Answer in English."))
    assert (agent.context, agent.opening) == (Context.LOST, ["Answer in English."])


async def test_files_that_cannot_be_given_keep_the_agent_from_running(bench: Bench) -> None:
    outside = bench.folder / "secret"
    outside.write_text("a secret")
    (bench.cwd / "out").symlink_to(outside)
    (bench.cwd / "up").symlink_to(bench.folder)
    (bench.cwd / "folder").mkdir()
    (bench.cwd / "image").write_bytes(b"\xff\xd8")
    (bench.cwd / "large").write_bytes(b"x" * (MOST_BYTES + 1))
    os.mkfifo(bench.cwd / "pipe")
    for path, told in {
        "missing": "No such file",
        "out": "leads out of the working directory",
        "up/secret": "leads out of the working directory",
        "folder": "Is a directory",
        "pipe": "it is no file",
        "image": "no UTF-8 text",
        "large": f"more than {MOST_BYTES} bytes",
    }.items():
        detail = (await failure_of(bench, files=(path,))).detail
        assert repr(path) in detail
        assert told in detail, path


async def test_files_are_bounded_in_all_and_links_within_the_directory_are_followed(bench: Bench) -> None:
    for number in range(5):
        (bench.cwd / f"f{number}").write_bytes(b"x" * MOST_BYTES)
    names = tuple(f"f{number}" for number in range(5))
    assert "of them all" in (await failure_of(bench, files=names)).detail
    (bench.cwd / "notes").write_text("noted")
    (bench.cwd / "link").symlink_to("notes")
    assert (await bench.start(options=Options(files=("link",)))).opening == ["noted"]


# Consent and safe mode


async def test_an_agent_hears_of_the_consent_to_hooks_as_its_definition_says(bench: Bench) -> None:
    spec = bench.spec(hooks_env={"ACCEPT_HOOKS": "1"})
    consenting = await bench.start(bench.runtime(spec), options=Options(hooks=True))
    assert (await bench.say(consenting, "do: say $env.ACCEPT_HOOKS")).final == "1"
    other = await bench.start(bench.runtime(spec))
    assert (await bench.say(other, "do: say $env.ACCEPT_HOOKS")).final == "$env.ACCEPT_HOOKS"


async def test_a_consent_that_nothing_tells_an_agent_of_keeps_it_from_running(bench: Bench) -> None:
    assert "hooks_env" in (await failure_of(bench, hooks=True)).detail


async def test_in_safe_mode_an_agent_has_an_empty_home_of_its_own(bench: Bench, tmp_path: Path) -> None:
    home, person = tmp_path / "tieline", tmp_path / "person"
    home.mkdir()
    person.mkdir()
    base = {**os.environ, "TIELINE_HOME": str(home), "HOME": str(person), "CODEX_HOME": str(person)}
    spec = bench.spec(env_pass=("CODEX_HOME",), safe_env={"SAFE_MODE": "1"})
    runtime = bench.runtime(spec, base=base)
    agent = await bench.start(runtime, options=Options(safe=True))
    found = json.loads((await bench.say(agent, "do: say $env")).final)
    own = Path(found["HOME"])
    assert own.is_relative_to(home)
    assert looked_into(own) == (0o700, [])
    assert all(Path(found[name]).is_relative_to(own) for name in found if name.startswith("XDG_"))
    assert found["SAFE_MODE"] == "1"
    assert str(person) not in [value for name, value in found.items() if name not in ("PATH", "PWD")]
    (own / "kept").touch()
    await agent.close()
    again = await bench.start(runtime, agent.alias, options=Options(safe=True))
    assert again.context is Context.RESUMED
    assert (own / "kept").exists(), "what the agent keeps of its context must be there when that is resumed"
    await again.close()
    await bench.start(runtime, options=Options(safe=True))
    assert looked_into(own) == (0o700, [])


async def test_safe_mode_is_none_in_the_users_own_home(bench: Bench, tmp_path: Path) -> None:
    base = {**os.environ, "TIELINE_HOME": str(tmp_path / "tieline"), "HOME": str(bench.cwd)}
    with pytest.raises(StartFailed, match="does not work in your home"):
        await bench.start(bench.runtime(base=base), options=Options(safe=True))


# A definition of before


async def test_an_agent_is_started_as_it_was_defined_with_the_values_of_now(bench: Bench) -> None:
    then = bench.spec(env={"KEY": "old", "GONE": "x"}, env_pass=("PASSED",))
    now = AgentSpec("desk", (sys.executable, "-c", "raise SystemExit(3)"), {**then.env, "KEY": "new", "MORE": "y"})
    del now.env["GONE"]  # type: ignore[attr-defined]
    runtime = bench.runtime(now, base={**os.environ, "PASSED": "z"})
    agent = await bench.start(runtime, definition=then.definition)
    found = json.loads((await bench.say(agent, "do: say $env")).final)
    assert found["KEY"] == "new"
    assert not {"GONE", "MORE", "PASSED"} & {*found}, "neither what is taken away nor what came since"


async def test_it_never_gets_more_than_it_would_now(bench: Bench) -> None:
    spec = bench.spec()
    embedding = Definition("desk", spec.command, tuple(spec.env), embed=True)
    await bench.start(bench.runtime(spec, tools=True), definition=embedding)
    [frame] = bench.received("session/new")
    assert [one["name"] for one in frame["params"]["mcpServers"]] == ["tieline"]


async def test_an_agent_that_is_defined_no_more_is_started_by_no_definition(bench: Bench) -> None:
    launch = bench.launch(agent="other", definition=bench.spec().definition)
    with pytest.raises(StartFailed, match="'other'"):
        await bench.runtime().start(launch, bench._bear)


async def test_no_value_of_an_environment_is_in_a_definition() -> None:
    spec = AgentSpec("desk", ("x",), {"KEY": "s3cret"}, hooks_env={"H": "s3cret"}, safe_env={"S": "s3cret"})
    assert "s3cret" not in repr(spec.definition)


async def test_a_prompt_takes_what_comes_first_along_whatever_it_is(bench: Bench) -> None:
    agent = await bench.start(options=Options(preamble="Answer in English."))
    await agent.prompt(Prompt(notice="Read your mail."), Ear())
    assert prompts(bench) == [["Answer in English.", "Read your mail."]]
