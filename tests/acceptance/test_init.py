"""`tieline init`, driven in a terminal: from nothing to the first handoff."""

import json
import stat
from pathlib import Path

import pytest

from tests.acceptance.onboarding import (
    ADA,
    CODE_LINE,
    EVE,
    OFFICE,
    Init,
    code_of,
    files,
    install,
    with_group,
    with_operator,
    with_token,
    with_topics,
)
from tests.fakes.bot_api import TOKEN, BotApi


async def test_from_nothing_to_the_first_handoff(init: Init, api: BotApi, tmp_path: Path) -> None:
    seat = await init("--json")
    await with_token(seat)
    await with_operator(seat, api)
    await with_group(seat, api)
    await with_topics(seat)
    await seat.shows("A script answers for now")
    await seat.shows("tieline.toml is written", "✓ Career has answered: ", "tieline run")
    code, out, err = await seat.ended()
    assert (code, err) == (0, "")
    told = json.loads(out)
    assert told["operator"] == {"id": ADA, "name": "User 111"}
    assert told["handoff"]["answer"] == "answered"
    home = tmp_path / "home"
    desk, career = (int(one["place"].rpartition("/")[2]) for one in told["sessions"])
    assert [topic.name for topic in api.room(OFFICE).topics.values()] == ["Front Desk", "Career"]
    assert any("Career" in shown.text or "career" in shown.text for shown in api.sent(OFFICE, desk))
    assert api.sent(OFFICE, career)
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    for name in ("tieline.toml", "telegram.token"):
        assert stat.S_IMODE((home / name).stat().st_mode) == 0o600
    assert (home / "telegram.token").read_text() == f"{TOKEN}\n"
    assert TOKEN not in (home / "tieline.toml").read_text()
    assert TOKEN not in (home / "logs" / "bridge.log").read_text()
    assert TOKEN not in seat.screen
    assert not {"init.json"} & files(tmp_path)


async def test_what_is_no_token_is_told_apart_from_one_that_telegram_refuses(init: Init, api: BotApi) -> None:
    seat = await init()
    for wrong in ("", "hello", "123456", "123456:short", f"{TOKEN} and more", "１２３:" + "A" * 35):
        await seat.answers("Its token", wrong)
        await seat.shows("is no token: it has digits, a colon")
    assert api.requests == []
    await seat.answers("Its token", "123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
    await seat.shows("BotFather gave another one", "/mybots")
    await with_token(seat)
    await seat.shows("@tieline_bot answers")
    assert TOKEN not in seat.screen


async def test_the_token_may_come_from_a_file(init: Init, api: BotApi, tmp_path: Path) -> None:
    (tmp_path / "given").write_text(f" {TOKEN}\n")
    seat = await init("--token-file", str(tmp_path / "given"))
    await seat.shows("@tieline_bot answers", CODE_LINE)


async def test_the_token_may_come_from_the_environment_and_is_asked_for_where_that_is_refused(
    init: Init, api: BotApi
) -> None:
    seat = await init(TIELINE_TELEGRAM__TOKEN="123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA")
    await seat.shows("Telegram refuses TIELINE_TELEGRAM__TOKEN")
    await with_token(seat)
    await seat.shows("@tieline_bot answers")


async def test_a_token_file_that_is_not_there_is_an_error_before_anything_is_asked(init: Init, tmp_path: Path) -> None:
    seat = await init("--json", "--token-file", str(tmp_path / "none"))
    code, out, _ = await seat.ended()
    assert code == 64
    assert json.loads(out)["error"]["code"] == "invalid_request"
    assert files(tmp_path) == set()


async def test_a_token_is_no_argument(init: Init, tmp_path: Path) -> None:
    """Everybody on the machine could read it there."""
    seat = await init("--token", TOKEN)
    code, _, _ = await seat.ended()
    assert code == 64
    assert files(tmp_path) == set()


async def test_while_telegram_is_away_it_is_tried_again(init: Init, api: BotApi) -> None:
    await api.down()
    seat = await init()
    await with_token(seat)
    await seat.shows("cannot be reached. Is the network there?", "trying again soon")
    await api.up()
    seat.type()
    await seat.shows("@tieline_bot answers")


async def test_a_server_that_is_no_bot_api_is_named(init: Init, api: BotApi) -> None:
    seat = await init("--base-url", api.base_url.replace("/bot", "/nothing/bot"))
    await with_token(seat)
    code, _, err = await seat.ended()
    assert code == 64
    assert "is no Bot API" in err
    assert "--base-url" in err
    assert TOKEN not in err


@pytest.mark.parametrize("wrong", ["telegram.org", "ftp://x/bot", "http://"])
async def test_a_base_url_that_is_none_is_refused_at_once(wrong: str, init: Init, tmp_path: Path) -> None:
    code, _, err = await (await init("--base-url", wrong)).ended()
    assert code == 64
    assert "is no URL of a Bot API" in err
    assert files(tmp_path) == set()


async def test_a_webhook_is_removed_after_a_yes_only(init: Init, api: BotApi) -> None:
    api.webhook.url = "https://elsewhere.example/secret/path"
    seat = await init()
    await with_token(seat)
    shown = await seat.shows("goes to https://elsewhere.example,", "Remove it?")
    assert "secret" not in shown
    seat.type("n")
    code, _, err = await seat.ended()
    assert code == 75
    assert "another program's" in err
    assert api.calls("deleteWebhook") == []
    seat = await init()
    await with_token(seat)
    await seat.answers("Remove it?", "y")
    await seat.shows("The webhook is gone", CODE_LINE)
    assert api.webhook.url == ""


async def test_another_poller_is_told_and_waited_for(init: Init, api: BotApi) -> None:
    seat = await init()
    await with_token(seat)
    await seat.shows("waiting for the code")
    for _ in range(2):
        await api.until(lambda: api.updates.polling)
        await api.updates.poll(None, None, 0, None)
    await seat.shows("goes elsewhere: another program polls this bot", "Once it has stopped, then press Enter")
    seat.type()
    await seat.shows("waiting for the code")


async def test_another_home_of_the_same_user_that_polls_the_bot_is_named(
    init: Init, api: BotApi, tmp_path: Path
) -> None:
    first = await init()
    await with_token(first)
    await first.shows("waiting for the code")
    second = await init(TIELINE_HOME=str(tmp_path / "other"))
    await with_token(second)
    await second.shows("polls this bot already for", "Once it has stopped")
    first.press(b"\x03")
    await first.ended()
    second.type()
    await second.shows("@tieline_bot answers")


async def test_only_who_sends_the_code_and_is_confirmed_becomes_the_operator(init: Init, api: BotApi) -> None:
    seat = await init()
    await with_token(seat)
    code = await code_of(seat)
    api.forum(OFFICE)
    api.say(code, user=ADA, chat=OFFICE)  # public
    api.say("hello", user=EVE)
    api.say(code, user=EVE, forwarded_from=ADA)
    api.say(code, user=EVE, via_bot=True)
    api.say("Zzzzzz", user=EVE)
    await seat.shows("A wrong code came")
    api.say(f"/start {code.lower()}", user=EVE)
    await seat.answers("User 666 (id 666) has sent the code. Is that you? (y/n)", "")
    await seat.answers("Is that you? (y/n)", "n")
    await seat.shows("somebody else knows that code")
    again = await code_of(seat)
    assert again != code
    api.say(code, user=EVE)
    await seat.shows("A wrong code came")
    api.say(f"/start {again}", user=ADA)
    await seat.answers("User 111 (id 111) has sent the code. Is that you? (y/n)", "y")
    await seat.shows("User 111 (id 111) is the operator")
    assert [sent.chat for sent in api.history] == [ADA], "strangers get silence"


async def test_five_wrong_codes_end_a_code(init: Init, api: BotApi) -> None:
    seat = await init()
    await with_token(seat)
    code = await code_of(seat)
    for number in range(5):
        api.say(f"ZZZZ{number}Z", user=EVE)
    await seat.shows("Too many wrong codes came")
    again = await code_of(seat)
    api.say(code, user=EVE)
    await seat.shows("A wrong code came")
    assert again != code


async def test_enter_gives_another_code(init: Init, api: BotApi) -> None:
    seat = await init()
    await with_token(seat)
    code = await code_of(seat)
    await seat.shows("waiting for the code")
    seat.type()
    assert await code_of(seat) != code


async def test_a_group_is_taken_by_the_operators_word_only(init: Init, api: BotApi) -> None:
    seat = await init()
    await with_token(seat)
    await with_operator(seat, api)
    await seat.shows("waiting for the group")
    api.forum(OFFICE)
    api.forum(-1002, title="Eves")
    api.member(-1002, api.bot, "administrator", by=EVE)
    api.say("/here", user=EVE, chat=-1002)
    api.say("/here", user=ADA, chat=OFFICE, anonymous=True)
    api.say("/here@another_bot", user=ADA, chat=OFFICE)
    api.say("/here", user=ADA)
    await seat.shows("That was your private chat, which has no topics", "waiting for the group")
    seat.type()
    await seat.shows("not as an anonymous administrator", "waiting for the group")
    api.say("/here@tieline_bot", user=ADA, chat=OFFICE)
    shown = await seat.shows("Take the group “Office”?")
    assert "Eves" not in shown


async def test_a_declined_group_is_asked_for_again_only_by_here(init: Init, api: BotApi) -> None:
    seat = await init()
    await with_token(seat)
    await with_operator(seat, api)
    await seat.shows("waiting for the group")
    api.forum(OFFICE)
    api.member(OFFICE, api.bot, "member", by=ADA)
    await seat.answers("Take the group “Office”?", "n")
    await seat.shows("waiting for the group")
    api.member(OFFICE, api.bot, "administrator", by=ADA)
    api.say("/here", user=ADA, chat=OFFICE)
    await seat.answers("Take the group “Office”?", "y")
    await seat.shows("Topics can be made")


async def test_a_group_that_the_bot_was_added_to_before_the_pairing_is_found(init: Init, api: BotApi) -> None:
    seat = await init()
    await with_token(seat)
    code = await code_of(seat)
    api.forum(OFFICE)
    api.member(OFFICE, api.bot, "administrator", by=ADA)
    api.say(code, user=ADA)
    await seat.answers("Is that you?", "y")
    await seat.shows("Take the group “Office”?")


async def test_it_says_what_to_press_until_the_group_and_the_rights_are_right(init: Init, api: BotApi) -> None:
    api.privacy(on=True)
    seat = await init()
    await with_token(seat)
    await with_operator(seat, api)
    await seat.shows("waiting for the group")
    api.group(-77, "Team")
    api.member(-77, api.bot, "member", by=ADA)
    await seat.answers("Take the group “Team”?", "")
    await seat.shows("has no topics", "Edit, Topics", "waiting until that is done")
    api.migrate(-77, OFFICE, topics={}, user=ADA)
    await seat.shows(
        "no administrator", "Add Administrator", "privacy mode", "/setprivacy", "waiting until that is done"
    )
    api.member(OFFICE, api.bot, "administrator", by=ADA, can_manage_topics=False)
    await seat.shows("may not make topics", "switch on Manage Topics", "waiting until that is done")
    api.member(OFFICE, api.bot, "administrator")
    seat.type()
    await seat.shows("Topics can be made in the group “Team”")


async def test_a_group_that_the_bot_has_left_is_asked_for_anew(init: Init, api: BotApi) -> None:
    seat = await init()
    await with_token(seat)
    await with_operator(seat, api)
    await seat.shows("waiting for the group")
    api.supergroup(OFFICE)
    api.member(OFFICE, api.bot, "member", by=ADA)
    await seat.answers("Take the group", "")
    await seat.shows("has no topics", "waiting until that is done")
    api.member(OFFICE, api.bot, "left", by=EVE)
    await seat.shows("is not in", "waiting for the group")


async def test_a_private_chat_with_topics_does_without_a_group(init: Init, api: BotApi, tmp_path: Path) -> None:
    api.private_topics(on=True)
    seat = await init("--json")
    await with_token(seat)
    await with_operator(seat, api)
    await seat.answers("Where are your topics to be? [1]", "2")
    await with_topics(seat)
    await seat.shows("✓ Career has answered")
    code, out, _ = await seat.ended()
    assert code == 0
    places = [one["place"] for one in json.loads(out)["sessions"]]
    assert all(place.startswith(f"telegram:{ADA}/") for place in places)
    assert "chats = []" in (tmp_path / "home" / "tieline.toml").read_text()


async def test_topics_may_have_any_name_but_the_others(init: Init, api: BotApi, tmp_path: Path) -> None:
    seat = await init("--json")
    await with_token(seat)
    await with_operator(seat, api)
    await with_group(seat, api)
    await seat.answers("Name of the first topic", "x" * 129)
    await seat.shows("up to 128 characters")
    await seat.answers("Name of the first topic", 'Übung "\\" 🙂')
    await seat.answers("Name of the second topic", 'übung "\\" 🙂')
    await seat.shows("That is the other one's name")
    await seat.answers("Name of the second topic", "Работа")
    await seat.shows("has answered")
    code, out, _ = await seat.ended()
    assert code == 0
    assert [one["id"] for one in json.loads(out)["sessions"]] == ["default/bung", "default/topic-2"]
    assert [topic.name for topic in api.room(OFFICE).topics.values()] == ['Übung "\\" 🙂', "Работа"]


async def test_agents_that_are_installed_are_offered_and_tried(init: Init, api: BotApi, tmp_path: Path) -> None:
    install(tmp_path, "claude-agent-acp")
    install(tmp_path, "codex-acp", "--login", "none-of-its")
    seat = await init("--json")
    await with_token(seat)
    await with_operator(seat, api)
    await with_group(seat, api)
    await with_topics(seat)
    await seat.shows("1  claude-code", "2  codex", "3  a script")
    await seat.answers("Number [1]", "9")
    await seat.shows("from 1 to 3")
    await seat.answers("Number [1]", "")
    await seat.shows("claude-code is ready", "“Career”")
    await seat.answers("Number [2]", "")
    await seat.shows("codex does not start", "codex login")
    await seat.answers("Take codex all the same?", "")
    await seat.answers("Number [2]", "1")
    await seat.shows("✓ Career has answered")
    _, out, _ = await seat.ended()
    assert [one["agent"] for one in json.loads(out)["sessions"]] == ["claude-code", "claude-code"]


async def test_an_answer_that_does_not_come_is_told(init: Init, api: BotApi, tmp_path: Path) -> None:
    install(tmp_path, "claude-agent-acp", "--login", "none-of-its")
    seat = await init("--json")
    await with_token(seat)
    await with_operator(seat, api)
    await with_group(seat, api)
    await with_topics(seat)
    for _ in range(2):
        await seat.answers("Number [1]", "")
        await seat.answers("Take claude-code all the same?", "y")
    await seat.shows("Enter: do not wait for it")
    seat.type()
    await seat.shows("Career has not answered (open)", "tieline doctor --agents")
    code, out, _ = await seat.ended()
    assert code == 70
    assert json.loads(out)["handoff"]["answer"] == "open"
    assert (tmp_path / "home" / "tieline.toml").exists()
