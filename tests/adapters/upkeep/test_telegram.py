"""What the doctor finds of Telegram, each with what to press. It changes nothing, and takes no update."""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import pytest

from adapters.settings.load import load
from adapters.sole_poller import sole_poller
from adapters.telegram.asking import Asking
from adapters.telegram.config import TelegramConfig
from adapters.upkeep import telegram as looked
from adapters.upkeep import updates as polled
from adapters.upkeep.finding import Finding, Level
from adapters.upkeep.telegram import telegram
from adapters.upkeep.updates import updates
from tests.fakes.bot_api import BotApi, Fault

ADA, BEN, OFFICE = 111, 222, -1001

Look = Callable[..., Coroutine[Any, Any, list[Finding]]]


@pytest.fixture
async def api() -> AsyncIterator[BotApi]:
    async with BotApi() as api:
        api.forum(OFFICE, topics={42: "Front Desk", 43: "Career"})
        api.member(OFFICE, api.bot, "administrator")
        for person in (ADA, BEN):
            api.private(person)
        yield api


@pytest.fixture
def look(api: BotApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Look:
    monkeypatch.setattr(polled, "_POLL_S", 1)

    async def run(
        *,
        runs: bool = False,
        chats: str = f"[{OFFICE}]",
        people: str = f"operators = [{ADA}]\nusers = [{BEN}]",
        token: str = api.token,
        base_url: str = api.base_url,
        bound: Mapping[str, str] | None = None,
        moved: Mapping[str, str] | None = None,
    ) -> list[Finding]:
        lines = [f'[telegram]\ntoken = "{token}"\nbase_url = "{base_url}"\n{people}\nchats = {chats}']
        lines.append(f'[agents.desk]\ncommand = ["{sys.executable}"]')
        for handle, thread in (("front-desk", 42), ("career", 43)) if str(OFFICE) in chats else ():
            lines.append(f'[sessions.{handle}]\nagent = "desk"\nplaces = ["telegram:{OFFICE}/{thread}"]')
        (tmp_path / "tieline.toml").write_text("\n".join(lines))
        settings = load(tmp_path, {})
        return await asyncio.to_thread(telegram, settings, environ(tmp_path), runs=runs, bound=bound, moved=moved)

    return run


def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_RUNTIME_DIR": str(tmp_path)}


def wrong(found: list[Finding]) -> Finding:
    """The one finding that something is to be done about."""
    (one,) = (each for each in found if each.level is not Level.OK)
    assert one.remedy
    return one


async def test_where_all_is_well_it_says_so_and_takes_nothing(look: Look, api: BotApi) -> None:
    api.say("wait for me", user=ADA)
    found = await look()
    assert {one.level for one in found} == {Level.OK}
    told = "\n".join(one.text for one in found)
    for part in ("@tieline_bot answers", "1 update", "may do all that is needed", "operator 111 is", "user 222 is"):
        assert part in told
    assert len(api.updates.pending) == 1
    assert {call.method for call in api.requests} <= {
        "getMe",
        "getWebhookInfo",
        "getUpdates",
        "getChat",
        "getChatMember",
        "sendChatAction",
    }
    assert api.history == []


async def test_a_refused_token(look: Look, api: BotApi) -> None:
    one = wrong(await look(token="123456:an-older-token-of-the-bot"))
    assert one.level is Level.FAIL
    assert "refuses the bot's token" in one.text
    assert "API Token" in one.remedy


async def test_what_is_no_bot_api(look: Look, api: BotApi) -> None:
    one = wrong(await look(base_url=api.base_url.replace("/bot", "/nothing/bot")))
    assert one.exit == 78
    assert "is no Bot API" in one.text
    assert "telegram.base_url" in one.remedy


async def test_offline_it_says_so_and_goes_on(look: Look, api: BotApi) -> None:
    await api.down()
    one = wrong(await look())
    assert one.level is Level.WARN
    assert "cannot be reached" in one.text
    assert "not looked at" in one.remedy


async def test_it_does_not_wait_for_ever(look: Look, api: BotApi, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(looked, "_IN_ALL_S", 0.5)
    api.fail("getMe", Fault.SILENT_AFTER)
    one = wrong(await look())
    assert "it was not done within" in one.text


async def test_no_operators(look: Look) -> None:
    one = wrong(await look(people=f"users = [{BEN}]"))
    assert "no operators" in one.text
    assert "tieline init" in one.remedy


async def test_a_webhook(look: Look, api: BotApi) -> None:
    api.webhook.url = "https://elsewhere.example/secret"
    one = wrong(await look())
    assert one.level is Level.FAIL
    assert "https://elsewhere.example" in one.text
    assert "secret" not in one.text


OURS, OTHER = "https://ours.example/secret", "https://other.example/secret"


@pytest.mark.parametrize(
    ("url", "runs", "level", "told"),
    [
        (OURS, True, Level.OK, "pushes to https://ours.example"),
        (OTHER, True, Level.FAIL, "goes to https://other.example, another webhook"),
        ("", True, Level.FAIL, "the webhook is not set"),
        ("", False, Level.OK, "is set once the bridge starts"),
    ],
)
async def test_a_webhook_that_is_configured(url: str, runs: bool, level: Level, told: str, api: BotApi) -> None:
    api.webhook.url = url
    config = TelegramConfig(api.token, api.base_url)
    async with Asking(config) as asking:
        (one,) = [each async for each in updates(asking, config, {}, webhook=OURS, runs=runs)]
    assert (one.level, told in one.text, "secret" in one.text) == (level, True, False)
    assert api.calls("getUpdates") == []


async def test_another_poller(look: Look, api: BotApi) -> None:
    looking = asyncio.ensure_future(look())
    await api.until(lambda: api.updates.polling)
    await api.updates.poll(None, None, 0, None)
    one = wrong(await looking)
    assert one.level is Level.FAIL
    assert "another program polls this bot" in one.text


async def test_another_home_of_this_user_that_polls_is_named_and_not_disturbed(
    look: Look, api: BotApi, tmp_path: Path
) -> None:
    config = TelegramConfig(api.token, api.base_url)
    with sole_poller(config, tmp_path / "another", environ(tmp_path)):
        one = wrong(await look())
    assert "another" in one.text
    assert api.calls("getUpdates") == []


async def test_a_bridge_that_runs_is_not_disturbed(look: Look, api: BotApi) -> None:
    one = wrong(await look(runs=True))
    assert "no menu of commands" in one.text
    assert api.calls("getUpdates") == []


async def test_privacy_mode(look: Look, api: BotApi) -> None:
    api.privacy(on=True)
    api.member(OFFICE, api.bot, "member")
    deaf, weak = [one for one in await look() if one.level is not Level.OK]
    assert deaf.level is Level.FAIL
    assert "privacy mode keeps @tieline_bot from hearing" in deaf.text
    assert "/setprivacy" in deaf.remedy
    assert "add it again" in deaf.remedy
    assert "no administrator" in weak.text
    assert "Add Administrator" in weak.remedy


async def test_privacy_mode_does_not_matter_to_an_administrator(look: Look, api: BotApi) -> None:
    api.privacy(on=True)
    assert {one.level for one in await look()} == {Level.OK}


@pytest.mark.parametrize(
    ("right", "press"), [("can_manage_topics", "Manage Topics"), ("can_delete_messages", "Delete Messages")]
)
async def test_a_right_that_it_lacks(right: str, press: str, look: Look, api: BotApi) -> None:
    without: Any = {right: False}
    api.member(OFFICE, api.bot, "administrator", **without)
    one = wrong(await look())
    assert one.level is Level.WARN
    assert f"switch on {press}" in one.remedy


async def test_topics_that_are_switched_off(look: Look, api: BotApi) -> None:
    api.switch_topics(OFFICE, on=False)
    off, *_ = [one for one in await look() if one.level is not Level.OK]
    assert "topics are off, and default/front-desk, default/career would be in one" in off.text
    assert off.remedy.endswith("Edit, Topics.")


@pytest.mark.parametrize("way", ["never", "left", "kicked"])
async def test_a_chat_that_the_bot_is_not_in(way: str, look: Look, api: BotApi) -> None:
    if way == "left":
        api.member(OFFICE, api.bot, "left")
    elif way == "kicked":
        api.remove_bot(OFFICE)
    chats = f"[{OFFICE}]" if way != "never" else "[-1009]"
    one = wrong(await look(chats=chats))
    assert one.level is Level.FAIL
    assert "is not in that chat" in one.text
    assert "Add @tieline_bot" in one.remedy


async def test_a_group_that_has_another_id_by_now(look: Look, api: BotApi) -> None:
    api.group(-77)
    api.migrate(-77, -1007)
    one = wrong(await look(chats="[-77]"))
    assert "-1007" in one.text
    assert "Write -1007 in its place" in one.remedy


async def test_a_topic_that_is_gone(look: Look, api: BotApi) -> None:
    api.delete_topic(OFFICE, 43)
    one = wrong(await look())
    assert one.level is Level.FAIL
    assert "the topic 43 of default/career is gone" in one.text
    assert "/bind" in one.remedy


async def test_a_topic_that_is_closed(look: Look, api: BotApi) -> None:
    api.close_topic(OFFICE, 43)
    one = wrong(await look())
    assert one.level is Level.WARN
    assert "default/career is closed" in one.text


async def test_a_topic_that_was_made_again_is_looked_for_where_it_is(look: Look, api: BotApi) -> None:
    api.delete_topic(OFFICE, 43)
    made = api.create_topic(OFFICE, "Career", user=ADA)
    places = [f"telegram:{OFFICE}/{thread}" for thread in (43, made)]
    found = await look(bound={places[1]: "default/career"}, moved=dict([places]))
    assert {one.level for one in found} == {Level.OK}


async def test_a_topic_that_was_bound_at_run_time_is_looked_at_too(look: Look, api: BotApi) -> None:
    one = wrong(await look(bound={f"telegram:{OFFICE}/77": "default/garden"}))
    assert "the topic 77 of default/garden is gone" in one.text


async def test_people_who_have_never_written_to_the_bot(look: Look) -> None:
    one = wrong(await look(people="operators = [333]\nusers = [222]"))
    assert one.level is Level.WARN
    assert "operator 333 has never written" in one.text
    assert "https://t.me/tieline_bot" in one.remedy


async def test_a_bot_that_must_pause_is_not_asked_on(look: Look, api: BotApi) -> None:
    api.flood(OFFICE, 30)
    found = await look()
    assert any("the rest was not looked at: Telegram wants a pause of 30 s" in one.text for one in found)


def test_without_telegram_nothing_is_looked_at(tmp_path: Path) -> None:
    (tmp_path / "tieline.toml").write_text("")
    assert telegram(load(tmp_path, {}), {}, runs=False) == []
