"""What goes wrong gets a clear error or notice, and the bridge goes on."""

import asyncio
import sys
from collections.abc import Callable

from tests.acceptance.home import Home
from tests.fakes.bot_api import BotApi
from tests.fakes.bot_api.world import Sent

CHAT, FRONT = -1001, 42


def paused_in(thread: int) -> Callable[[Sent], bool]:
    return lambda sent: sent.thread == thread and "/resume" in sent.text


async def test_wrong_settings_name_file_line_and_remedy(home: Home) -> None:
    (home.path / "tieline.toml").write_text('[limits]\ndept = 3\n\n[sessions.x]\nagent = "nobody"\n')
    ran = await home.tieline("run")
    assert ran.code == 78
    assert "tieline.toml:2" in ran.err
    assert "depth" in ran.err
    assert "tieline.toml:5" in ran.err
    assert ran.out == ""


async def test_a_wrong_token_is_told_and_the_shell_works(home: Home, api: BotApi) -> None:
    home.telegram(api, chats=[CHAT])
    api.token = "1:another"
    home.worker("career")
    home.rule("default/shell", "default/career")
    await home.up()
    assert (await home.ask("career", "hello")).code == 0
    async with asyncio.timeout(20):
        while not (health := (await home.tieline("status", "--json")).json["telegram"]).get("error"):
            pass
    assert health["ok"] is False


async def test_without_a_bot_api_the_bridge_is_ready_and_delivers_once_it_is_there(home: Home, api: BotApi) -> None:
    api.forum(CHAT, topics={FRONT: "Front Desk"})
    home.telegram(api, chats=[CHAT])
    home.worker("front-desk", places=[f"telegram:{CHAT}/{FRONT}"])
    home.rule("default/shell", "default/front-desk")
    await api.down()
    await home.up()
    assert (await home.ask("front-desk", "hello")).code == 0
    await api.up()
    await api.seen(lambda sent: sent.thread == FRONT and sent.text == "done: hello", timeout=40)


async def test_agents_that_cannot_be_started_pause_their_sessions_and_people_are_told(home: Home, api: BotApi) -> None:
    broken = {42: "/no/such/agent", 43: "/etc/passwd"}
    api.forum(CHAT, topics=broken)
    home.telegram(api, chats=[CHAT])
    for thread, command in broken.items():
        home.agent(f"broken-{thread}", command=[command])
        home.session(f"desk-{thread}", f"broken-{thread}", f"telegram:{CHAT}/{thread}")
    home.worker("career")
    home.rule("default/shell", "default/*")
    await home.up()
    for thread, command in broken.items():
        api.say("hello", chat=CHAT, thread=thread, user=111)
        told = await api.seen(paused_in(thread), timeout=20)
        assert command in told.text
        refused = await home.ask(f"desk-{thread}", "hello")
        assert (refused.code, refused.json["error"]["code"]) == (75, "paused")
    assert (await home.ask("career", "hello")).code == 0


async def test_an_agent_that_dies_before_it_acts_is_tried_again(home: Home) -> None:
    program = home.path / "frail.py"
    program.write_text(
        "import os, sys\n"
        f"marker = {str(home.path / 'once')!r}\n"
        "if not os.path.exists(marker):\n"
        "    open(marker, 'w').close()\n"
        "    sys.exit(3)\n"
        "os.execv(sys.executable, [sys.executable, '-P', '-m', 'adapters.scripted'])\n"
    )
    home.agent("frail", command=[sys.executable, str(program)])
    home.session("career", "frail")
    home.rule("default/shell", "default/career")
    await home.up()
    ran = await home.ask("career", "hello")
    assert (ran.code, ran.json["reply"]["text"]) == (0, "done: hello")


async def test_an_agent_that_dies_after_it_acted_is_not_run_again(home: Home) -> None:
    home.worker("career", {"on": "mail", "script": "tool pay the bill ; crash 3"})
    home.rule("default/shell", "default/career")
    await home.up()
    ran = await home.ask("career", "pay")
    assert (ran.code, ran.json["answer"]) == (70, "failed")
    assert len(home.prompts("career")) == 1


async def test_bad_texts_are_refused_clearly_and_the_bridge_goes_on(home: Home) -> None:
    home.session("inbox-only")
    home.rule("default/shell", "default/inbox-only")
    await home.up()
    for text, error in (
        (b"caf\xe9", "invalid_request"),
        (b"x" * 1_000_000, "too_large"),
        (b"", "invalid_request"),
        (b"a\x00b", "invalid_request"),
    ):
        ran = await home.tieline("send", "inbox-only", "-", "--json", stdin=text)
        assert (ran.code, ran.json["error"]["code"]) == (64, error)
    assert (await home.tieline("send", "inbox-only", "-", "--json", stdin="naïve ✓".encode())).code == 0
    assert (await home.tieline("inbox", "--json")).code == 0


async def test_no_bridge_is_69(home: Home) -> None:
    ran = await home.tieline("sessions", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (69, "unavailable")


async def test_a_circle_of_agents_ends_and_its_trace_shows_each_refusal(home: Home) -> None:
    for one, other in (("a", "b"), ("b", "c"), ("c", "a")):
        forward = f'call peer_send {{"to": "{other}", "text": "your turn"}} ; say passed on'
        home.worker(
            one, {"on": "mail", "intent": "request", "script": forward}, {"on": "mail", "script": "say NO_REPLY"}
        )
        home.rule(f"default/{one}", f"default/{other}")
    home.rule("default/shell", "default/a")
    await home.up()
    sent = await home.ask("a", "go round")
    trace = await home.tieline("trace", sent.json["conversation_id"], "--json")
    assert trace.code == 0
    accepted = [step for step in trace.lines if step["step"] == "accepted"]
    assert 1 <= len(accepted) <= 7
