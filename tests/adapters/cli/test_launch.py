"""What a session's agent is started with, as it is typed."""

from bridge.launching import Options, Server
from tests.adapters.api.memory_exchange import MemoryExchange
from tests.adapters.cli.shell import Shell


async def test_every_option_comes_to_the_bridge_as_it_was_typed(shell: Shell, exchange: MemoryExchange) -> None:
    done = await shell.run(
        *("session", "new", "made", "--agent", "desk", "--key", "once", "--model", "opus", "--mode", "plan"),
        *("--preamble", "Answer in English.", "--server", "files=mcp-files '/srv/my files'", "--server", "web=mcp-web"),
        *("--file", "a.md", "--file", "b.md", "--hooks", "--safe", "--label", "cron", "--fallback", "other"),
    )
    assert done.code == 0
    servers = (Server("files", ("mcp-files", "/srv/my files")), Server("web", ("mcp-web",)))
    options = Options("opus", "plan", "Answer in English.", servers, ("a.md", "b.md"), True, True, "cron", ("other",))
    assert exchange.made == [(options, "once")]


async def test_without_any_the_agent_is_as_it_is(shell: Shell, exchange: MemoryExchange) -> None:
    assert (await shell.run("session", "new", "made", "--agent", "desk")).code == 0
    assert exchange.made == [(Options(), None)]


async def test_a_preamble_may_come_from_stdin(shell: Shell, exchange: MemoryExchange) -> None:
    await shell.run("session", "new", "made", "--agent", "desk", "--preamble", "-", stdin=b"Line one.\nLine two.\n")
    assert exchange.made[0][0].preamble == "Line one.\nLine two.\n"


async def test_what_is_no_server_is_told_at_once(shell: Shell, exchange: MemoryExchange) -> None:
    for server in ("files", "files=", "files='"):
        done = await shell.run("session", "new", "made", "--agent", "desk", "--server", server)
        assert done.code == 64
        assert "write name=command" in done.err
    done = await shell.run("session", "new", "made", "--agent", "desk", "--server", "a=x", "--server", "a=y")
    assert (done.code, "named twice" in done.err) == (64, True)
    assert exchange.made == []


async def test_an_unknown_option_is_refused(shell: Shell, exchange: MemoryExchange) -> None:
    done = await shell.run("session", "new", "made", "--agent", "desk", "--modell", "opus", "--json")
    assert (done.code, done.records[0]["error"]["code"]) == (64, "invalid_request")
    assert exchange.made == []


async def test_all_sessions_are_listed_where_all_are_asked_for(shell: Shell, exchange: MemoryExchange) -> None:
    await shell.run("sessions")
    await shell.run("sessions", "--all")
    assert set(exchange.listed) == {False, True}
    assert exchange.listed[0] is False


async def test_a_session_is_given_a_fresh_context(shell: Shell, exchange: MemoryExchange) -> None:
    done = await shell.run("session", "renew", "career")
    assert done.out == "career begins afresh, with the settings of now; closed as failed: 1 that it had read\n"
    [record] = (await shell.run("session", "renew", "career", "--json")).records
    assert record == {"failed": 1, "waits_for": []}
    exchange.asked_at = ("telegram:111",)
    assert (await shell.run("session", "renew", "career")).out == "career waits for an operator at telegram:111\n"


async def test_a_session_is_given_a_topic(shell: Shell, exchange: MemoryExchange) -> None:
    done = await shell.run("session", "topic", "career", "-1001234")
    assert done.out == "career has a topic: https://t.me/c/1234/7\n"
    [record] = (await shell.run("session", "topic", "career", "--json")).records
    assert record == {
        "session": "career",
        "place": "telegram:-1001234/7",
        "link": "https://t.me/c/1234/7",
        "waits_for": [],
    }
    exchange.asked_at = ("telegram:111",)
    waits = await shell.run("session", "topic", "career")
    assert waits.out == "a topic for career waits for an operator at telegram:111\n"
    assert exchange.topics == [("career", "telegram:-1001234"), ("career", None), ("career", None)]


async def test_a_session_is_made_with_a_topic(shell: Shell, exchange: MemoryExchange) -> None:
    await shell.run("session", "new", "one", "--agent", "desk")
    await shell.run("session", "new", "two", "--agent", "desk", "--topic")
    await shell.run("session", "new", "three", "--agent", "desk", "--topic", "-1001234")
    assert exchange.topics == [("one", None), ("two", ""), ("three", "telegram:-1001234")]
