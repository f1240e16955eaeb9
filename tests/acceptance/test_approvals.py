"""People decide what agents may do: the real bridge and shell, and Telegram by a loopback Bot API."""

import asyncio
import json
from dataclasses import dataclass

import pytest

from tests.acceptance.home import Home
from tests.acceptance.terminal import Ran
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


async def test_a_button_that_is_pressed_after_the_hold_delivers_nothing_and_says_so(home: Home, api: BotApi) -> None:
    office(home, api)
    await home.up()
    asked = None
    for life in ("2s", "8s", "30s"):  # as long as this machine takes to show the question while it is open
        text = f"within {life}?"
        sent = await home.tieline("send", "career", text, "--wake", "--ttl", life, "--json")
        asked = await api.seen(lambda one, text=text: text in one.text, timeout=40)  # type: ignore[misc]
        if asked.buttons:
            break
    assert asked is not None
    ident = sent.json["message_id"]
    gone = await api.seen(lambda one: one.edited and text in one.text and "nobody approved it in time" in one.text, 40)
    assert (gone.message_id, gone.thread, gone.buttons) == (asked.message_id, CAREER, ())
    for label in ("Approve once", "Always for this pair", "Deny"):
        said = await api.answered(api.press(asked, dict(asked.buttons)[label], user=111), timeout=20)
        assert said == "This has expired: nobody had decided in time."
    late = await home.typed("approvals", "approve", ident, "--json")
    assert (late.code, late.json["state"], late.json["outcome"], late.json["waits_for"]) == (
        70,
        "settled",
        "expired",
        [],
    )
    assert late.json["said"] == "This has expired: nobody had decided in time."
    assert home.prompts("career") == []
    assert (await home.typed("policy", "list", "--json")).lines == []
    steps = [one["step"] for one in (await home.tieline("trace", ident, "--json")).lines]
    assert (steps.count("settled"), "leased" in steps) == (1, False)
    (notice,) = (await home.tieline("inbox", "--json")).lines[-1:]
    assert (notice["in_reply_to"], "expired" in notice["text"]) == (ident, True)


@dataclass(frozen=True, slots=True)
class Round:
    """What an operator presses in a chat of the operator's own, while somebody types the verdict in a terminal."""

    operator: int
    label: str
    verdict: str

    @property
    def worker(self) -> str:
        return f"worker-{self.operator}"

    @property
    def place(self) -> str:
        return f"telegram:{self.operator}"


@pytest.mark.parametrize("confirm", [True, False])
async def test_a_button_and_a_terminal_at_the_same_instant_are_one_decision_and_both_are_told_of_it(
    home: Home, api: BotApi, confirm: bool
) -> None:
    ways = [("Approve once", "approve"), ("Deny", "approve"), ("Approve once", "deny")] * 2
    rounds = [Round(operator, *way) for operator, way in enumerate(ways, 111)]
    for one in rounds:
        api.private(one.operator)
        home.worker(one.worker, {"on": "mail", "script": "say we move"}, places=[one.place])
        home.rule("default/shell", f"default/{one.worker}", effect="ask")
    home.telegram(api, operators=[one.operator for one in rounds], chats=[])
    home.tables += ["[policy]\nconfirm_in_chat = false"] * (not confirm)
    await home.up()
    await home.typed("status")
    sending = [home.tieline("send", one.worker, "shall we move?", "--wake", "--json") for one in rounds]
    sent = {one: ran.json["message_id"] for one, ran in zip(rounds, await asyncio.gather(*sending), strict=True)}
    decided = {one: await _decided(home, api, one, ident) for one, ident in sent.items()}

    for one, (by, approved) in decided.items():
        assert by == one.place or not (confirm and one.verdict == "approve")
        if approved:
            await api.seen(lambda post, one=one: (post.chat, post.text) == (one.operator, "we move"), 20)  # type: ignore[misc]
        assert len(home.prompts(one.worker)) == approved
    mail = (await home.tieline("inbox", "--json")).lines
    assert sorted(one["in_reply_to"] for one in mail) == sorted(sent.values())
    answered = {one["in_reply_to"] for one in mail if one["text"] == "we move"}
    assert answered == {sent[one] for one, (_, approved) in decided.items() if approved}


async def _decided(home: Home, api: BotApi, one: Round, ident: str) -> tuple[str, bool]:
    """Who has decided, by the audit, and whether it was approved; what everybody is told agrees with that."""
    asked = await api.seen(lambda post: post.chat == one.operator and "needs your approval" in post.text, timeout=20)

    async def pressed() -> str | None:
        return await api.answered(api.press(asked, dict(asked.buttons)[one.label], user=one.operator), timeout=20)

    ran, said = await asyncio.gather(home.typed("approvals", one.verdict, ident, "--json"), pressed())

    records = (await home.typed("audit", "--limit", "500", "--json")).lines
    (act,) = [record for record in records if record["what"] in ("approved", "denied") and record["subject"] == ident]
    by, approved = act["by"], act["what"] == "approved"
    name = by if by == "shell" else f"User {one.operator}"
    over = f"This has been {'approved already,' if approved else 'decided already: denied'} by {name}."
    done = "Approved once." if approved else "Denied."
    assert by in ("shell", one.place)
    assert said == (over if by == "shell" else done)
    if by == "shell":
        assert ran.json["said"] == done
    elif ran.json["state"] == "held":
        assert (ran.json["said"], ran.json["waits_for"]) == (
            "It waits for an operator's word in the chat.",
            [one.place],
        )
    else:
        assert (ran.json["said"], ran.json["waits_for"]) == (over, [])
    assert ran.code == (0 if ran.json["state"] == "held" or approved is (one.verdict == "approve") else 70)
    how = f"{'Approved once' if approved else 'denied'} by {name}"
    shown = await api.seen(
        lambda post: post.message_id == asked.message_id and post.chat == asked.chat and how in post.text
    )
    assert (shown.edited, shown.buttons) == (True, ())
    return by, approved


async def test_a_terminal_waits_for_the_operators_word_and_a_program_decides_nothing(home: Home, api: BotApi) -> None:
    office(home, api)
    api.private(111)
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
    await _a_session_waits_as_well(home, api)


async def _a_session_waits_as_well(home: Home, api: BotApi) -> None:
    """To be made, and to take work again after a stop."""
    new = ("session", "new", "research", "--agent", "career", "--cwd", str(home.path), "--title", "Research", "--json")
    assert error_of(await home.tieline(*new)) == "not_permitted"
    waits = await home.typed(*new)
    assert (waits.code, waits.json["id"], waits.json["waits_for"]) == (0, "default/research", ["telegram:111"])
    asked = await api.seen(lambda one: one.chat == 111 and "a new session, default/research" in one.text, timeout=20)
    for part in ("(default/shell)", "agent: career", f"directory: {home.path}", "title: Research"):
        assert part in asked.text
    assert await _sessions(home) == {"default/career", "default/shell"}
    assert await api.answered(api.press(asked, dict(asked.buttons)["Accept"], user=111), timeout=20) == "Accepted."
    assert await _sessions(home) == {"default/career", "default/shell", "default/research"}
    await home.typed("session", "stop", "research")
    said = await home.typed("session", "resume", "research")
    assert (said.code, said.out) == (0, "research waits for an operator at telegram:111\n")
    asked = await api.seen(lambda one: "default/research takes work again" in one.text, timeout=20)
    assert await api.answered(api.press(asked, dict(asked.buttons)["Accept"], user=111), timeout=20) == "Accepted."
    said = await home.typed("session", "resume", "research", "--json")
    assert (said.code, said.json) == (0, {"resumed": False, "waits_for": []})


async def _sessions(home: Home) -> set[str]:
    return {one["id"] for one in (await home.typed("sessions", "--json")).lines}


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
