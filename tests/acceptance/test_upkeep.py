"""A home is looked at, copied and brought back, as the runbook tells it."""

import shutil
from pathlib import Path

from tests.acceptance.home import Home


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
