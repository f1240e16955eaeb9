"""`tieline init` that is broken off, run again, or run where it must not be."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.acceptance.home import TIELINE
from tests.acceptance.onboarding import (
    ADA,
    CODE_LINE,
    OFFICE,
    Init,
    environ,
    files,
    install,
    with_group,
    with_operator,
    with_token,
)
from tests.acceptance.seat import Seat
from tests.fakes.bot_api import TOKEN, BotApi, Fault

Way = Callable[[Seat], None]
CTRL_C: Way = lambda seat: seat.press(b"\x03")  # noqa: E731
CTRL_D: Way = lambda seat: seat.press(b"\x04")  # noqa: E731
CLOSED: Way = Seat.hang_up


async def at_the_token(seat: Seat, api: BotApi) -> None:
    await seat.shows("Its token")


async def at_the_code(seat: Seat, api: BotApi) -> None:
    await with_token(seat)
    await seat.shows("waiting for the code")


async def at_the_question_who_it_is(seat: Seat, api: BotApi) -> None:
    await with_token(seat)
    await seat.shows(CODE_LINE, "\n", "waiting for the code")
    api.say(seat.screen.rpartition(CODE_LINE)[2].split()[0], user=ADA)
    await seat.shows("Is that you?")


async def at_the_group(seat: Seat, api: BotApi) -> None:
    await with_token(seat)
    await with_operator(seat, api)
    await seat.shows("waiting for the group")


async def at_the_topics(seat: Seat, api: BotApi) -> None:
    await with_token(seat)
    await with_operator(seat, api)
    await with_group(seat, api)
    await seat.shows("Name of the first topic")


@pytest.mark.parametrize("way", [CTRL_C, CTRL_D, CLOSED], ids=["ctrl-c", "ctrl-d", "closed"])
@pytest.mark.parametrize("step", [at_the_token, at_the_code, at_the_question_who_it_is, at_the_group, at_the_topics])
async def test_broken_off_at_any_step_it_leaves_nothing_half_written(
    step: Callable[[Seat, BotApi], Awaitable[None]], way: Way, init: Init, api: BotApi, tmp_path: Path
) -> None:
    seat = await init()
    await step(seat, api)
    way(seat)
    code, out, err = await seat.ended()
    assert (code, out) == (130, "")
    assert "Nothing is half written" in err
    assert files(tmp_path) <= {"init.json"}
    assert TOKEN not in seat.screen + err
    assert api.calls("createForumTopic") == []


async def test_run_again_it_goes_on_and_makes_no_second_pair_of_topics(init: Init, api: BotApi, tmp_path: Path) -> None:
    seat = await init()
    await at_the_topics(seat, api)
    api.fail("createForumTopic", Fault.CUT_BEFORE)
    seat.type()
    await seat.answers("Name of the second topic", "")
    await seat.shows("did not say whether it has made “Front Desk”", "Enter: it is not there")
    seat.press(b"\x03")
    await seat.ended()
    notes = tmp_path / "home" / "init.json"
    assert notes.stat().st_mode & 0o077 == 0

    seat = await init()
    await seat.answers("Go on with the bot of the last time?", "")
    await seat.answers("User 111 (id 111) was the operator. Is that still you? (y/n)", "y")
    await seat.answers("Go on with the group “Office”?", "")
    await seat.answers("Name of the first topic", "")
    await seat.shows("second topic")
    api.fail("createForumTopic", Fault.CUT_AFTER)
    seat.type()
    await seat.shows("did not say whether it has made “Front Desk”", "Enter: it is not there")
    (thread,) = api.room(OFFICE).topics
    api.say("/here", user=ADA, chat=OFFICE)  # elsewhere
    api.say("/here", user=ADA, chat=OFFICE, thread=thread)
    await seat.shows("The topic “Career” is there", "✓ Career has answered")
    assert (await seat.ended())[0] == 0
    assert [topic.name for topic in api.room(OFFICE).topics.values()] == ["Front Desk", "Career"]


async def finished(seat: Seat, api: BotApi) -> None:
    await at_the_topics(seat, api)
    seat.type()
    await seat.answers("Name of the second topic", "")
    await seat.shows("✓ Career has answered")
    assert (await seat.ended())[0] == 0


async def test_a_topic_that_is_just_being_made_is_not_forgotten(init: Init, api: BotApi, tmp_path: Path) -> None:
    seat = await init()
    await at_the_topics(seat, api)
    seat.type()
    api.fail("createForumTopic", Fault.SLOW_AFTER)
    await seat.answers("Name of the second topic", "")
    await api.until(lambda: bool(api.room(OFFICE).topics), timeout=30)
    seat.press(b"\x03")
    assert (await seat.ended())[0] == 130
    seat = await init()
    await seat.answers("Go on with the bot of the last time?", "")
    await seat.answers("Is that still you?", "y")
    await seat.answers("Go on with the group “Office”?", "")
    await seat.answers("Go on with “Front Desk”, which is there already?", "")
    await seat.answers("Name of the second topic [Career]", "")
    await seat.shows("The topic “Career” is there")
    assert len(api.room(OFFICE).topics) == 2


@asynccontextmanager
async def running(environ: Mapping[str, str]) -> AsyncIterator[int]:
    """A bridge, by its process."""
    bridge = await asyncio.create_subprocess_exec(
        *TIELINE, "run", env=environ, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        assert bridge.stdout is not None
        assert b"ready" in await bridge.stdout.readline()
        yield bridge.pid
    finally:
        bridge.terminate()
        await bridge.wait()


async def test_an_existing_file_is_replaced_after_a_yes_only_and_kept(init: Init, api: BotApi, tmp_path: Path) -> None:
    await finished(await init(), api)
    file = tmp_path / "home" / "tieline.toml"
    file.write_text(file.read_text() + "# mine\n")
    mine = file.read_text()

    seat = await init()
    await seat.answers("Go on? (y/N)", "")
    assert (await seat.ended())[0] == 0
    assert file.read_text() == mine

    seat = await init("--json")
    await seat.answers("Go on? (y/N)", "y")
    await seat.answers("Go on with the bot of the last time?", "")
    await seat.answers("Is that still you?", "y")
    await seat.answers("Go on with the group “Office”?", "")
    await seat.answers("Go on with “Front Desk” and “Career”", "")
    await seat.shows("✓ Career has answered")
    code, out, _ = await seat.ended()
    assert code == 0
    assert (tmp_path / "home" / Path(json.loads(out)["backup"]).name).read_text() == mine
    assert "# mine" not in file.read_text()
    assert len(api.room(OFFICE).topics) == 2


async def test_what_people_wrote_meanwhile_is_for_the_bridge(init: Init, api: BotApi, tmp_path: Path) -> None:
    await finished(await init(), api)
    first, _ = api.room(OFFICE).topics
    api.say("do: say I hear you", user=ADA, chat=OFFICE, thread=first)
    seat = await init()
    await seat.answers("Go on? (y/N)", "y")
    await seat.answers("Go on with the bot of the last time?", "")
    await seat.answers("Is that still you?", "n")
    await seat.shows(CODE_LINE, "\n", "waiting for the code")
    api.say(seat.screen.rpartition(CODE_LINE)[2].split()[0], user=ADA)
    await seat.answers("Is that you?", "y")
    await seat.answers("Go on with the group “Office”?", "")
    await seat.answers("Go on with “Front Desk” and “Career”", "")
    assert (await seat.ended())[0] == 0
    async with running(environ(tmp_path, api)):
        await api.seen(lambda sent: "I hear you" in sent.text, timeout=30)


async def test_broken_off_at_the_handoff_all_is_written(init: Init, api: BotApi, tmp_path: Path) -> None:
    install(tmp_path, "claude-agent-acp", "--login", "none-of-its")
    seat = await init()
    await at_the_topics(seat, api)
    seat.type()
    await seat.answers("Name of the second topic", "")
    for _ in range(2):
        await seat.answers("Number [1]", "")
        await seat.answers("Take claude-code all the same?", "y")
    await seat.shows("Enter: do not wait for it")
    seat.press(b"\x03")
    code, _, err = await seat.ended()
    assert code == 130
    assert "all is written. Start the bridge: tieline run" in err
    assert {"tieline.toml", "telegram.token"} <= files(tmp_path)
    assert "init.json" not in files(tmp_path)


async def test_what_is_typed_is_shown_again_after_the_token(init: Init, api: BotApi) -> None:
    seat = await init()
    await seat.shows("Its token")
    with seat.watched() as echoes:
        assert not echoes()
        seat.press(b"\x03")
        await seat.ended()
        assert echoes()


async def test_a_terminal_that_cannot_wipe_a_line_does(init: Init, api: BotApi) -> None:
    seat = await init(TERM="dumb")
    await at_the_group(seat, api)
    assert b"\x1b" not in seat.raw


async def test_topics_that_are_gone_are_made_anew(init: Init, api: BotApi, tmp_path: Path) -> None:
    await finished(await init(), api)
    first, _ = api.room(OFFICE).topics
    api.delete_topic(OFFICE, first)
    seat = await init()
    await seat.answers("Go on? (y/N)", "y")
    await seat.answers("Go on with the bot of the last time?", "")
    await seat.answers("Is that still you?", "y")
    await seat.answers("Go on with the group “Office”?", "")
    await seat.answers("Go on with “Career”", "")
    await seat.answers("Name of the first topic [Front Desk]", "")
    await seat.shows("✓ Career has answered")
    assert (await seat.ended())[0] == 0
    assert [topic.name for topic in api.room(OFFICE).topics.values() if not topic.deleted] == ["Career", "Front Desk"]


async def test_what_it_adds_to_a_home_with_operators_waits_for_their_word(
    init: Init, api: BotApi, tmp_path: Path
) -> None:
    """An agent that types in a terminal of its own gains no more than by writing the file."""
    await finished(await init(), api)
    seat = await init("--json")
    await seat.answers("Go on? (y/N)", "y")
    await seat.answers("Go on with the bot of the last time?", "")
    await seat.answers("Is that still you?", "n")
    await seat.shows(CODE_LINE, "\n", "waiting for the code")
    api.say(seat.screen.rpartition(CODE_LINE)[2].split()[0], user=666)
    await seat.answers("Is that you?", "y")
    await seat.answers("Go on with the group “Office”?", "")
    await seat.answers("Go on with “Front Desk” and “Career”", "")
    await seat.shows("waits for the word of one of them", "tieline run")
    code, out, _ = await seat.ended()
    assert code == 0
    assert json.loads(out)["handoff"]["waits"]


async def test_a_server_that_was_noted_gets_no_token_without_a_persons_word(
    init: Init, api: BotApi, tmp_path: Path
) -> None:
    """Whoever can write into the home could have noted one."""
    (tmp_path / "home").mkdir(mode=0o700)
    noted: dict[str, object] = {
        "token": "",
        "base_url": api.base_url,
        "operator": None,
        "ground": None,
        "topics": [],
        "left": [],
    }
    (tmp_path / "home" / "init.json").write_text(json.dumps(noted))
    seat = await init(TIELINE_TELEGRAM__BASE_URL="")
    await seat.shows(f"asked at {api.base_url}, which is not Telegram's own")
    await seat.answers("It gets the bot's token (y/n)", "y")
    await with_token(seat)
    await seat.shows("@tieline_bot answers")
    seat = await init(TIELINE_TELEGRAM__BASE_URL="")
    await seat.answers("It gets the bot's token (y/n)", "n")
    await seat.shows("Its token")


async def test_a_token_that_is_revoked_meanwhile_ends_it(init: Init, api: BotApi) -> None:
    seat = await init()
    await at_the_code(seat, api)
    api.token = "123456:another-token-of-the-fake"
    code, _, err = await seat.ended()
    assert code == 77
    assert "Telegram refuses the token" in err
    assert "API Token" in err


async def test_a_home_that_cannot_be_used_is_told_before_anything_is_asked(init: Init, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file")
    code, _, err = await (await init()).ended()
    assert code == 75
    assert "cannot be used as a home" in err


async def test_where_a_bridge_runs_it_is_refused(init: Init, tmp_path: Path, api: BotApi) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    async with running(environ(tmp_path, api) | {"TIELINE_TELEGRAM__TOKEN": TOKEN}) as pid:
        code, _, err = await (await init()).ended()
    assert code == 75
    assert f"process {pid} runs a bridge" in err


async def test_without_a_terminal_it_is_refused_with_what_to_do(tmp_path: Path, api: BotApi) -> None:
    process = await asyncio.create_subprocess_exec(
        *TIELINE,
        *("init", "--json"),
        env=environ(tmp_path, api),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    out, _ = await process.communicate()
    assert process.returncode == 77
    error = json.loads(out)["error"]
    assert error["code"] == "not_permitted"
    assert "terminal" in error["reason"]
    assert files(tmp_path) == set()


_MARKED = """
import os, resource, sys
hard = resource.getrlimit(12)[1]
odd = (2**63 if hard == -1 else hard) // 2 * 2 - 1
resource.setrlimit(12, (min(odd, 819200) - 1 | 1,) * 2)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""What an agent starts bears such a limit (RLIMIT_MSGQUEUE)."""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody can tell")
async def test_an_agent_in_a_terminal_of_its_own_is_refused(init: Init, tmp_path: Path) -> None:
    seat = await init("--json", through=(sys.executable, "-c", _MARKED))
    code, out, _ = await seat.ended()
    assert code == 77
    assert "no agent has opened" in json.loads(out)["error"]["reason"]
    code, _, _ = await (await init(TIELINE_TOKEN="a-capability")).ended()
    assert code == 77
    assert files(tmp_path) == set()
