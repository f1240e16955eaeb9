"""Topics of Hermes' own bot hand work to each other, and people there come first."""

import asyncio
import shutil
import venv
from pathlib import Path

import pytest

from tests.agents.hermes_gateway import CAREER, DESK, PATIENCE_S, PLUGIN, topics
from tests.agents.installed import HERMES
from tests.agents.provider import Calls, Model, Provider, Says, Waits
from tests.fakes.bot_api import BotApi

pytestmark = pytest.mark.timeout(400)

CANARY = "CANARY-5519 is Initech serious?"
NOTICE = "peer_receive"
"""Is in each notice of the bridge's, which asks the agent to read its mail."""
READ = Calls("peer_receive")
ANSWER = Says("the answer is yes")


def hands_over(model: Model, answers: Says | Waits) -> None:
    """What a person asks at the desk is handed over; career reads its mail and answers; the desk tells its person."""
    model.on("hand it over", Calls("peer_send", {"to": "career", "text": CANARY, "intent": "request", "wake": True}))
    model.on("", Says("handed over"), tool="peer_send")
    model.on("the answer is", Says("told: the answer is yes"), tool="peer_receive")
    model.on("Initech", answers, tool="peer_receive")
    model.on("", Says("nothing is left"), tool="peer_receive")
    model.on(NOTICE, READ)
    model.on(
        "unfinished work", ANSWER
    )  # Hermes goes on by itself with what a restart has cut off, and knows what it read.


async def test_a_topic_hands_to_an_idle_one_of_the_same_bot_and_its_answer_comes_back(
    tmp_path: Path, api: BotApi, provider: Provider
) -> None:
    async with topics(tmp_path, api, provider) as one:
        hands_over(one.model, ANSWER)
        assert (await one.sessions())["default/career"]["kind"] == "gateway"
        one.say("please hand it over", DESK)
        await one.seen("the answer is yes", CAREER)
        await one.seen("told: the answer is yes", DESK)
        assert not [text for text in one.hermes.rows("user") if "CANARY" in text]
        assert any("CANARY" in text for text in one.hermes.rows("tool"))
        words = [line.text for asked in one.model.asked for line in asked.lines if line.role == "user"]
        assert words
        assert not [text for text in words if "CANARY" in text]


async def test_a_person_at_the_other_topic_is_first_and_the_handoff_waits(
    tmp_path: Path, api: BotApi, provider: Provider
) -> None:
    go_on = asyncio.Event()
    async with topics(tmp_path, api, provider) as one:
        hands_over(one.model, ANSWER)
        one.model.on("think of", Waits(go_on, Says("I thought of something")))
        one.say("think of something", CAREER)
        await one.model.is_asked("think of")
        one.say("please hand it over", DESK)
        await one.seen("handed over", DESK)
        assert (await one.sessions())["default/career"]["activity"] == "thinking"
        (mail,) = (await one.home.typed("inbox", "--session", "career", "--json")).lines
        assert mail["state"] == "queued"
        go_on.set()
        await one.seen("I thought of something", CAREER)
        await one.seen("the answer is yes", CAREER)
        await one.seen("told: the answer is yes", DESK)


@pytest.mark.parametrize("busy", ["queue", "interrupt"])
async def test_a_person_who_writes_in_the_instant_of_the_wake_loses_nothing_and_nothing_comes_twice(
    tmp_path: Path, api: BotApi, provider: Provider, busy: str
) -> None:
    """Before the handoff is sent, as soon as it is, and as its turn has just begun: each time and again."""
    rounds = range(6)
    async with topics(tmp_path, api, provider, busy=busy) as one:
        for number in rounds:
            sends = {"to": "career", "text": f"round {number}: is Initech serious?", "intent": "request", "wake": True}
            go_on = asyncio.Event()
            one.model.forget()
            one.model.on(f"hand {number}", Waits(go_on, Calls("peer_send", sends)))
            one.model.on("", Says("handed over"), tool="peer_send")
            one.model.on(f"yes {number}", Says(f"told: answer {number}"), tool="peer_receive")
            one.model.on(f"round {number}", Says(f"yes {number}"), tool="peer_receive")
            one.model.on(f"quick {number}", Says(f"reply {number}"))
            one.model.on(NOTICE, READ)
            one.say(f"hand {number}", DESK)
            await one.model.is_asked(f"hand {number}")
            noticed = sum(NOTICE in asked.last.text for asked in one.model.asked)
            if number % 3 == 0:
                one.say(f"quick {number}", CAREER)
            go_on.set()
            if number % 3 == 2:
                await one.model.is_asked(NOTICE, times=noticed + 1)
            if number % 3 != 0:
                one.say(f"quick {number}", CAREER)
            await one.seen(f"reply {number}", CAREER)
            await one.seen(f"yes {number}", CAREER)
            await one.seen(f"told: answer {number}", DESK)
        for number in rounds:
            for text, thread in ((f"reply {number}", CAREER), (f"yes {number}", CAREER), (f"answer {number}", DESK)):
                assert sum(text in post for post in one.posts(thread)) == 1, (text, one.posts(thread))
        users = one.hermes.rows("user")
        assert sum("quick " in text for text in users) == len(rounds)
        assert not [text for text in users if "quick " in text and NOTICE in text]
        assert not [text for text in users if "Initech" in text]
        if busy == "queue":
            assert sum(NOTICE in text for text in users) == 2 * len(rounds)


async def test_a_bridge_that_is_killed_in_the_middle_goes_on_with_the_turn_once(
    tmp_path: Path, api: BotApi, provider: Provider
) -> None:
    go_on = asyncio.Event()
    async with topics(tmp_path, api, provider) as one:
        hands_over(one.model, Waits(go_on, ANSWER))
        one.say("please hand it over", DESK)
        await one.model.is_asked("Initech")
        await one.home.kill()
        go_on.set()
        await one.seen("the answer is yes", CAREER)
        await one.home.up()
        await one.seen("told: the answer is yes", DESK)
        assert len([text for text in one.hermes.rows("user") if NOTICE in text]) == 2


@pytest.mark.parametrize("ends", ["kill", "down"])
async def test_a_gateway_that_is_restarted_in_the_middle_loses_nothing_and_repeats_nothing(
    tmp_path: Path, api: BotApi, provider: Provider, ends: str
) -> None:
    go_on = asyncio.Event()
    async with topics(tmp_path, api, provider) as one:
        hands_over(one.model, Waits(go_on, ANSWER))
        one.say("please hand it over", DESK)
        await one.model.is_asked("Initech")
        await getattr(one.hermes, ends)()
        go_on.set()
        await one.hermes.up()
        await one.seen("told: the answer is yes", DESK)
        assert sum("told: the answer is yes" in text for text in one.posts(DESK)) == 1


async def test_a_fresh_context_that_a_person_asks_for_ends_what_runs_and_tells_who_waits_for_it(
    tmp_path: Path, api: BotApi, provider: Provider
) -> None:
    async with topics(tmp_path, api, provider) as one:
        one.model.on("stopped by a person", Says("told: it was stopped"), tool="peer_receive")
        hands_over(one.model, Waits(asyncio.Event(), ANSWER))
        one.say("please hand it over", DESK)
        await one.model.is_asked("Initech")
        one.say("/new", CAREER)
        await one.seen("told: it was stopped", DESK)
        one.model.forget()
        hands_over(one.model, ANSWER)
        one.model.on("go on", Says("here again"))
        one.say("go on", CAREER)  # A topic that was stopped rests for others until a person writes there.
        await one.seen("here again", CAREER)
        one.say("please hand it over", DESK)
        await one.seen("told: the answer is yes", DESK)
        fresh = next(asked for asked in reversed(one.model.asked) if "Initech" in asked.last.text)
        assert sum(line.tool.endswith("peer_receive") for line in fresh.lines) == 1


async def test_a_plugin_that_is_installed_as_a_package_is_found_enabled_and_linked(
    tmp_path: Path, api: BotApi, provider: Provider
) -> None:
    """In an environment of its own that has all of Hermes', as one is that has Hermes installed."""
    venv.create(tmp_path / "venv", with_pip=True)
    python = str(tmp_path / "venv" / "bin" / "python")
    (packages,) = (tmp_path / "venv").glob("lib/*/site-packages")
    (theirs,) = HERMES.parent.glob("lib/*/site-packages")
    (packages / "hermes.pth").write_text(f"{theirs}\n")
    shutil.copytree(PLUGIN, tmp_path / "plugin", ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    pip = (python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", str(tmp_path / "plugin"))
    assert await (await asyncio.create_subprocess_exec(*pip)).wait() == 0
    async with topics(tmp_path, api, provider, installed=(python, "-m", "hermes_cli.main")) as one:
        hands_over(one.model, ANSWER)
        assert not (one.hermes.path / "plugins" / "tieline").exists()
        one.say("please hand it over", DESK)
        await one.seen("told: the answer is yes", DESK)
        assert await one.told() == [("ok", "hermes is linked (hermes 0.19.0), 2 sessions", "")]


async def test_the_doctor_advises_one_whose_people_interrupt_and_tells_when_it_is_away(
    tmp_path: Path, api: BotApi, provider: Provider
) -> None:
    async with topics(tmp_path, api, provider, busy="interrupt") as one:
        linked, advised = await one.told()
        assert (linked[0], advised[0]) == ("ok", "warn")
        assert "busy_input_mode" in advised[2]
        await one.hermes.kill()
        async with asyncio.timeout(PATIENCE_S):
            while (await one.sessions())["default/career"]["reachable"] != "pull":
                pass
        ((level, text, _),) = await one.told()
        assert (level, text.startswith("hermes was here last ")) == ("warn", True)
