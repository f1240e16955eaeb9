"""Agents that have nothing to do are closed, and go on with their context once they have."""

from tests.acceptance.home import Home
from tests.acceptance.processes import born, gone


async def test_an_idle_agent_is_closed_and_resumed_with_its_context(home: Home) -> None:
    home.limits(idle_close_s=0.5)
    home.worker("career")
    home.rule("default/shell", "default/career")
    await home.up()
    contexts = []
    for turn in (1, 2):
        answer = await home.ask("career", "do: say $session")
        contexts.append(answer.json["reply"]["text"])
        processes = born([*home.agents(), *home.workers()])
        await home.logged("its agent was idle and is closed", turn)
        await gone(processes)
    assert len(set(contexts)) == 1
    opened = [one for one in home.frames("career") if str(one.get("method")).startswith("session/")]
    methods = [one["method"] for one in opened if one["method"] in ("session/new", "session/load")]
    assert methods == ["session/new", "session/load"]
    assert [one["params"]["sessionId"] for one in opened if one["method"] == "session/load"] == contexts[:1]
    assert (await home.tieline("status", "--json")).json["turns"] == 0


async def test_what_comes_while_an_idle_agent_is_being_closed_is_answered(home: Home) -> None:
    home.limits(idle_close_s=0.1, stop_grace_s=2)
    home.worker("career", stubborn="yes")
    home.rule("default/shell", "default/career")
    await home.up()
    for turn in (1, 2, 3):
        assert (await home.ask("career", f"hello {turn}")).json["reply"]["text"] == f"done: hello {turn}"
        await home.logged("its agent was idle and is closed", turn)
    assert len(home.prompts("career")) == 3


async def test_many_sessions_answer_at_once(home: Home) -> None:
    home.agent("desk")
    names = [f"s{number}" for number in range(12)]
    for name in names:
        home.session(name, "desk")
    home.rule("default/shell", "default/*")
    await home.up()
    asked = [await home.began("ask", name, f"hello {name}", "--timeout", "60") for name in names]
    told = [(await one.communicate())[0].decode().strip() for one in asked]
    assert told == [f"done: hello {name}" for name in names]
    assert len(home.agents()) == len(names)
