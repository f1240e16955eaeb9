"""A home is looked at, copied and brought back, as the runbook tells it."""

import shutil
from pathlib import Path

from tests.acceptance.home import Home
from tests.fakes.bot_api import BotApi


async def test_a_backup_of_a_running_bridge_restores_what_waits(home: Home, tmp_path: Path) -> None:
    home.session("notes")
    home.rule("default/shell", "default/notes")
    await home.up()
    sent = (await home.tieline("send", "notes", "keep this", "--json")).json
    doctor = await home.tieline("doctor", "--json")
    assert doctor.code == 0, doctor.out
    assert {one["level"] for one in doctor.lines if one["check"] in ("store", "lock", "bridge", "clock")} == {"ok"}
    made = (await home.tieline("backup", str(tmp_path / "copy.db"), "--json")).json
    assert (made["path"], made["messages"]) == (str(tmp_path / "copy.db"), 1)
    again = await home.tieline("backup", str(tmp_path / "copy.db"), "--json")
    assert (again.code, again.json["error"]["code"]) == (64, "invalid_request")
    await home.tieline("ack", sent["message_id"], "--from", "notes")
    assert await home.down() == 0
    for left in home.path.glob("tieline.db*"):
        left.unlink()
    shutil.copy(made["path"], home.path / "tieline.db")
    await home.up()
    (kept,) = (await home.tieline("inbox", "--session", "notes", "--json")).lines
    assert (kept["message_id"], kept["text"]) == (sent["message_id"], "keep this")


async def test_the_doctor_asks_telegram_beside_a_bridge_that_polls(home: Home, api: BotApi) -> None:
    api.forum(-1001, topics={42: "Front Desk", 43: "Garden"})
    api.member(-1001, api.bot, "administrator")
    api.private(111)
    home.worker("front-desk", places=["telegram:-1001/42"])
    home.worker("garden")
    home.telegram(api, chats=[-1001])
    await home.up()
    await api.until(lambda: api.updates.polling and bool(api.menu(111, 222)), timeout=30)
    api.say("/bind garden", user=111, chat=-1001, thread=43)
    await api.seen(lambda sent: "is bound to" in sent.text, timeout=30)
    api.delete_topic(-1001, 43)
    polls = [call.fields for call in api.calls("getUpdates")]
    doctor = await home.tieline("doctor", "--json")
    found = [one for one in doctor.lines if one["check"] == "telegram"]
    assert [one["text"] for one in found if one["level"] != "ok"] == [
        "-1001 (Office): the topic 43 of default/garden is gone (Message thread not found)"
    ]
    assert any("@tieline_bot answers" in one["text"] for one in found)
    others = [call.fields for call in api.calls("getUpdates")][len(polls) :]
    assert all("offset" in fields for fields in others), "none but the bridge's own"
    assert await home.down() == 0
    assert "another program polls" not in home.stderr.read_text()
