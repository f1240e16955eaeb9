"""What a session was made with holds over restarts and changes of the file, with real agents and the real shell."""

import asyncio
import json

from tests.acceptance.home import Home
from tests.acceptance.test_reload import READ


async def made(home: Home, *options: str, handle: str = "job") -> dict[str, object]:
    done = await home.typed("session", "new", handle, "--agent", "desk", "--cwd", str(home.path / "work"), *options)
    assert done.code == 0, done.err
    return dict(next(one for one in await listed(home, "--all") if one["id"] == f"default/{handle}"))


async def listed(home: Home, *options: str) -> list[dict[str, object]]:
    return [dict(one) for one in (await home.typed("sessions", "--json", *options)).lines]


async def answer(home: Home, text: str, to: str = "job") -> str:
    done = await home.ask(to, text)
    assert done.code == 0, done.out + done.err
    return str(done.json["reply"]["text"])


def desk(home: Home, models: str = "haiku,opus") -> None:
    (home.path / "work").mkdir(exist_ok=True)
    home.tables[:] = []
    home.agent("desk", models=models)
    home.rule("default/shell", "default/*")


async def test_a_session_is_made_once_with_all_that_it_is_started_with(home: Home) -> None:
    desk(home)
    (home.path / "work" / "plan.md").write_text("Begin with the roof.")
    await home.up()
    options = ("--model", "opus", "--mode", "read-only", "--preamble", "Be short.", "--file", "plan.md")
    await made(home, *options, "--safe", "--label", "oneshot", "--key", "once")
    assert "default/job" not in [one["id"] for one in await listed(home)]
    await made(home, *options, "--safe", "--label", "oneshot", "--key", "once")
    other = await home.typed("session", "new", "job", "--agent", "desk", "--key", "once", "--json")
    assert (other.code, other.json["error"]["code"]) == (64, "invalid_request")
    assert await answer(home, "do: say $model in $env.HOME") == f"opus in {home.path}/safe/default_job/desk"
    assert [block.get("text") or block["resource"]["text"] for block in home.prompts("desk")[0]][:2] == [
        "Be short.",
        "Begin with the roof.",
    ]
    modes = [frame["params"]["modeId"] for frame in home.frames("desk") if frame.get("method") == "session/set_mode"]
    assert modes == ["read-only"]


async def test_what_cannot_be_is_refused_before_the_session_is_there(home: Home) -> None:
    desk(home)
    await home.up()
    for options, told in [
        (("--hooks",), "hooks_env"),
        (("--file", "../x"), "working directory"),
        (("--fallback", "none"), "no agent named 'none'"),
    ]:
        done = await home.typed("session", "new", "job", "--agent", "desk", *options, "--json")
        assert (done.code, done.json["error"]["code"]) == (64, "invalid_request")
        assert told in json.dumps(done.json["error"])
    assert [one["id"] for one in await listed(home, "--all")] == ["default/shell"]


async def test_a_change_of_the_file_reaches_a_session_with_its_next_fresh_context(home: Home) -> None:
    desk(home)
    home.session("career", "desk", model="opus")
    await home.up()
    assert await answer(home, "do: say $model", "career") == "opus"
    await home.down()

    desk(home, "haiku,opus,sonnet")
    home.session("career", "desk", model="sonnet")
    await home.up()
    assert await answer(home, "do: say $model", "career") == "opus"
    status = (await home.tieline("status", "--json")).json
    assert status["outdated"] == 1
    assert "1 session on older settings" in (await home.tieline("doctor")).out
    assert [one["outdated"] for one in await listed(home) if one["id"] == "default/career"] == [True]

    assert (await home.typed("session", "renew", "career")).code == 0
    assert await answer(home, "do: say $model", "career") == "sonnet"
    assert (await home.tieline("status", "--json")).json["outdated"] == 0


async def test_a_model_that_the_agent_does_not_offer_pauses_the_session_and_its_people_can_set_it_right(
    home: Home,
) -> None:
    desk(home)
    home.session("career", "desk", model="gpt")
    await home.up()
    await home.tieline("send", "career", "do: say $model", "--wake")
    await home.logged("cannot be set to the model 'gpt': it offers haiku, opus")
    async with asyncio.timeout(20):
        while (await listed(home))[0]["activity"] != "errored":
            pass
    home.tables[-1] = home.tables[-1].replace("gpt", "opus")
    home.write()
    home.hang_up()
    await home.logged(READ)
    assert await answer(home, "do: say $model", "career") == "opus"


async def test_another_agent_answers_while_the_first_is_at_its_limit(home: Home) -> None:
    desk(home)
    limited = {"on": "mail", "script": "fail HTTP 429: rate limit, try again in 2 hours"}
    home.agent("busy", limited)
    home.session("career", "busy", fallback=["desk"])
    await home.up()
    assert await answer(home, "hello", "career") == "done: hello"
    (shown,) = [one for one in await listed(home) if one["id"] == "default/career"]
    assert shown["agent"] == "desk"
