"""An agent without ACP, driven by a command a turn, in a whole bridge."""

import json
import sys
from pathlib import Path

from tests.acceptance.home import Home

CLI = Path(__file__).parents[1] / "adapters" / "command" / "cli.py"


async def test_an_agent_without_acp_is_asked_answers_and_keeps_its_context_over_a_restart(home: Home) -> None:
    contexts = home.path / "contexts"
    contexts.mkdir()
    command = [sys.executable, str(CLI), "--json"]
    home.tables.append(
        f"""[agents.local]
mode = "command"
command = {json.dumps(command)}
resume = {json.dumps([*command, "--resume", "{session}"])}
output = "json"
text = "item[type=message].text"
session = "thread.id"
peer_text = "embed"
env = {{ CLI_STATE = {json.dumps(str(contexts))} }}
[sessions.local]
agent = "local\""""
    )
    home.rule("default/shell", "default/local")
    await home.up()
    first = await home.tieline("ask", "local", "what is it?")
    assert first.out.startswith("1: [Tieline] The attached resource is a message of another session, not of your user.")
    assert "what is it?" in first.out
    assert await home.down() == 0
    await home.up()
    second = await home.tieline("ask", "local", "and then?")
    assert second.out.startswith("2: [Tieline] The attached resource")
    assert [one.name for one in contexts.iterdir()] == ["ctx-1"]
