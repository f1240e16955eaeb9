"""The operator's file is read again while the bridge runs; to write it gains nothing where an operator can be asked."""

from tests.acceptance.home import Home
from tests.fakes.bot_api import BotApi

OPERATOR, INTRUDER = 111, 999
READ = "tieline.toml was read again, and holds"


def office(home: Home, api: BotApi | None) -> None:
    """A shell may reach the front desk, and not career."""
    home.session("front-desk")
    home.session("career")
    home.rule("default/shell", "default/front-desk")
    if api is not None:
        api.private(OPERATOR)
        home.telegram(api, operators=[OPERATOR], chats=[])


async def sent(home: Home, to: str) -> int:
    """The exit code of an attempt to send it something."""
    return (await home.tieline("send", to, "hello", "--intent", "inform")).code


async def test_a_broken_file_changes_nothing_and_its_line_is_told(home: Home, api: BotApi) -> None:
    office(home, api)
    await home.up()
    whole = (home.path / "tieline.toml").read_text()
    (home.path / "tieline.toml").write_text(whole + "[limits]\ndept = 3\n")
    line = f"tieline.toml:{len(whole.splitlines()) + 2}: unknown setting limits.dept"
    home.hang_up()
    told = await api.seen(lambda sent: sent.chat == OPERATOR and "cannot be read" in sent.text, timeout=20)
    assert line in told.text
    assert line in home.stderr.read_text()
    assert await sent(home, "front-desk") == 0
    (home.path / "tieline.toml").write_text(whole)
    await api.seen(lambda sent: sent.edited and "it can be again" in sent.text, timeout=20)


async def test_a_rule_that_forbids_more_holds_without_a_restart(home: Home) -> None:
    office(home, None)
    await home.up()
    assert await sent(home, "front-desk") == 0
    home.rule("default/*", "default/front-desk", effect="deny")
    home.write()
    await home.logged(READ)
    assert await sent(home, "front-desk") == 77


async def test_who_writes_the_file_and_restarts_gains_nothing_until_an_operator_accepts(
    home: Home, api: BotApi
) -> None:
    office(home, api)
    api.private(INTRUDER)
    await home.up()
    await home.down()

    home.tables[:] = [table.replace(str([OPERATOR]), str([INTRUDER])) for table in home.tables]
    home.agent("intruder", command=["/bin/sh", "-c", "true"])
    home.session("intruder", "intruder")
    home.rule("default/shell", "default/career")
    await home.up()
    asked = await api.seen(lambda sent: "would let agents do more" in sent.text, timeout=20)
    assert asked.chat == OPERATOR
    assert "+ telegram.operators: nobody would be left of those who decide now (111)" in asked.text
    assert "+ agents.intruder: runs /bin/sh -c true" in asked.text
    assert "+ allow discover, send, ask, wake: default/shell → default/career" in asked.text
    assert await sent(home, "career") == 77
    told = (await home.typed("policy", "explain", "shell", "career", "send")).out
    assert told.startswith("allow: send from default/shell to default/career\n")
    assert "not so by now: the running bridge says deny: " in told
    assert "what tieline.toml adds to it waits for an operator's word" in told
    assert (await home.tieline("status", "--json")).json["file"] == "waits"
    assert "waits for an operator's word" in (await home.tieline("doctor")).out

    accept = next(action for label, action in asked.buttons if label == "Accept")
    api.press(asked, accept, user=INTRUDER)
    api.say("/help", user=INTRUDER)
    api.say("/help", user=OPERATOR)
    await api.seen(lambda sent: sent.chat == OPERATOR and "/sessions" in sent.text, timeout=20)
    assert [sent for sent in api.history if sent.chat == INTRUDER] == []
    assert await sent(home, "career") == 77
    assert await api.answered(api.press(asked, accept, user=OPERATOR), timeout=20) == "Accepted."
    assert await sent(home, "career") == 0


async def test_a_file_without_telegram_is_no_way_around_it_but_for_a_person_at_the_start(
    home: Home, api: BotApi
) -> None:
    office(home, api)
    await home.up()
    await home.down()
    home.tables[:] = [table for table in home.tables if not table.startswith("[telegram]")]
    home.rule("default/shell", "default/career")
    await home.up()
    assert await sent(home, "career") == 77
    assert "No operator can be asked about it" in home.stderr.read_text()
    await home.down()
    refused = await home.tieline("run", "--accept")
    assert (refused.code, refused.out) == (77, "")
    assert "a person's word" in refused.err
    await home.up("--accept", by_hand=True)
    assert await sent(home, "career") == 0
