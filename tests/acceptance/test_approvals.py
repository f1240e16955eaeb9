"""People decide what agents may do: the real bridge and shell, and Telegram by a loopback Bot API."""

import json

from tests.acceptance.home import Home, Ran
from tests.fakes.bot_api import BotApi

CHAT, CAREER = -1001, 43


def office(home: Home, api: BotApi) -> None:
    api.forum(CHAT, topics={CAREER: "Career"})
    home.telegram(api, chats=[CHAT], users=[222])
    home.worker("career", {"on": "mail", "script": "say we move"}, places=[f"telegram:{CHAT}/{CAREER}"])
    home.rule("default/shell", "default/career", effect="ask")


async def test_a_held_handoff_is_approved_in_telegram_after_a_restart_and_delivered_once(
    home: Home, api: BotApi
) -> None:
    office(home, api)
    await home.up()
    sent = await home.tieline("send", "career", "shall we move?", "--wake", "--json")
    assert (sent.code, sent.json["state"], sent.json["position"]) == (0, "held", 0)
    ident = sent.json["message_id"]
    asked = await api.seen(lambda one: "needs your approval" in one.text and one.thread == CAREER, timeout=20)
    assert "shall we move?" in asked.text
    await home.kill()
    await home.up()
    approve, deny = dict(asked.buttons)["Approve once"], dict(asked.buttons)["Deny"]
    assert "only an operator" in str(await api.answered(api.press(asked, approve, user=222), timeout=20))
    assert home.prompts("career") == []
    assert await api.answered(api.press(asked, approve, user=111), timeout=20) == "Approved once."
    assert "already" in str(await api.answered(api.press(asked, deny, user=111), timeout=20))
    await api.seen(lambda one: one.text == "we move" and one.thread == CAREER, timeout=20)
    assert len(home.prompts("career")) == 1
    mail = (await home.tieline("inbox", "--json")).lines
    assert [(one["text"], one["in_reply_to"]) for one in mail] == [("we move", ident)]
    trace = [step["step"] for step in (await home.tieline("trace", ident, "--json")).lines]
    assert trace.index("held") < trace.index("leased")


async def test_a_terminal_waits_for_the_operators_word_and_a_program_decides_nothing(home: Home, api: BotApi) -> None:
    office(home, api)
    await home.up()
    ident = (await home.tieline("send", "career", "now?", "--json")).json["message_id"]
    for arguments in (("approvals",), ("approvals", "approve", ident), ("policy", "allow", "shell", "career")):
        ran = await home.tieline(*arguments, "--json")
        assert (ran.code, error_of(ran)) == (77, "not_permitted")
    (held,) = (await home.typed("approvals", "--json")).lines
    assert [*held] == ["message_id", "from", "to", "verbs", "text", "depth", "expires_at"]
    assert (held["message_id"], held["from"], held["verbs"]) == (ident, "default/shell", ["ask"])
    wish = await home.typed("approvals", "approve", ident, "--json")
    assert (wish.code, wish.json["state"], len(wish.json["waits_for"])) == (0, "held", 1)
    await api.seen(lambda one: "a terminal asks to approve it" in one.text, timeout=20)
    denied = await home.typed("approvals", "deny", ident, "--json")
    assert (denied.json["state"], denied.json["outcome"]) == ("settled", "refused")
    records = [json.loads(line) for line in (await home.typed("audit", "--json")).out.splitlines()]
    assert [one["what"] for one in records] == ["decision", "refused", "refused", "refused", "proposed", "denied"]


async def test_without_a_chat_a_terminal_grants_at_once(home: Home) -> None:
    home.worker("career", {"on": "mail", "script": "say hello"})
    home.rule("default/career", "default/shell", verbs=["send"])
    await home.up()
    assert error_of(await home.ask("career", "hello?")) == "not_permitted"
    granted = await home.typed("policy", "allow", "shell", "career", "--for", "1h", "--json")
    assert (granted.json["effect"], granted.json["waits_for"]) == ("allow", [])
    assert (await home.ask("career", "hello?")).json["reply"]["text"] == "hello"
    audit = (await home.typed("audit")).out
    assert "default/shell → default/career (discover, send, ask, wake): allow, pair until 20" in audit
    wrong = await home.typed("policy", "allow", "everybody", "tag:office", "--scope", "always", "--json")
    assert (wrong.code, error_of(wrong)) == (64, "invalid_request")
    assert wrong.json["error"]["reason"].startswith("'everybody' names no profile: write PROFILE/everybody")
    wrong = await home.typed("policy", "allow", "shell", "career", "--verbs", "sned", "--json")
    assert wrong.json["error"]["reason"].startswith("verbs.0: ")
    paused = await home.typed("policy", "pause", "--json")
    assert paused.json["paused"]
    assert (await home.ask("career", "hello?", timeout=0.2)).json["answer"] == "open"
    await home.typed("policy", "resume")
    told = (await home.typed("policy", "explain", "shell", "career", "ask", "--json")).json
    assert (told["effect"], told["rule"]) == ("allow", f"grant:{granted.json['id']}")
    listed = (await home.typed("policy", "list", "--json")).lines
    assert [one["id"] for one in listed] == [granted.json["id"]]
    await home.typed("policy", "revoke", granted.json["id"])
    assert "nothing is granted" in (await home.typed("policy", "list")).out
    assert error_of(await home.ask("career", "hello?")) == "not_permitted"


async def test_other_rules_are_tried_on_what_was_decided(home: Home) -> None:
    home.worker("career", {"on": "mail", "script": "say hello"})
    home.rule("default/shell", "default/career")
    await home.up()
    await home.ask("career", "hello?")
    other = home.path / "other.toml"
    other.write_text((home.path / "tieline.toml").read_text().replace('effect = "allow"', 'effect = "ask"'))
    done = (await home.typed("policy", "simulate", str(other), "--json")).json
    assert (done["changed"], done["same"]) == (1, 0)
    (shift,) = done["shifts"]
    assert (shift["from"], shift["to"], shift["verbs"]) == ("default/shell", "default/career", ["ask", "wake"])
    assert (shift["old"]["effect"], shift["new"]["effect"]) == ("allow", "ask")


def error_of(ran: Ran) -> str:
    code: str = ran.json["error"]["code"]
    return code
