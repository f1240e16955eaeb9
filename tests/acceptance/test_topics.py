"""A topic hands work to another: the real bridge, Telegram client, agents and tools, against a loopback Bot API."""

import json

from bridge import briefing
from tests.acceptance.home import Home
from tests.fakes.bot_api import BotApi

CHAT, FRONT, CAREER, OTHER = -1001, 42, 43, 44
SECRET = "CANARY-7731 please judge this offer"


def office(home: Home, api: BotApi) -> None:
    api.forum(CHAT, topics={FRONT: "Front Desk", CAREER: "Career", OTHER: "Other"})
    home.telegram(api, chats=[CHAT])
    home.worker(
        "front-desk",
        {
            "on": "prompt",
            "match": "offer",
            "script": f'call peer_send {{"to": "career", "text": "{SECRET}"}} ; say handed on',
        },
        {"on": "mail", "intent": "reply", "script": "say I was told: $text"},
        places=[f"telegram:{CHAT}/{FRONT}"],
    )
    home.worker("career", {"on": "mail", "script": "say the offer is sound"}, places=[f"telegram:{CHAT}/{CAREER}"])
    home.worker("other", places=[f"telegram:{CHAT}/{OTHER}"])
    home.rule("default/front-desk", "default/career")


async def test_a_message_in_one_topic_wakes_another_and_its_answer_comes_back(home: Home, api: BotApi) -> None:
    office(home, api)
    await home.up()
    api.say("look at this offer", chat=CHAT, thread=FRONT, user=111)
    shown = await api.seen(lambda sent: "career: the offer is sound" in sent.text, timeout=20)
    assert (shown.chat, shown.thread) == (CHAT, FRONT)
    await api.seen(lambda sent: sent.text == "I was told: the offer is sound" and sent.thread == FRONT, timeout=20)
    await api.seen(lambda sent: sent.thread == CAREER and sent.text.startswith("front-desk → career:"), timeout=20)
    await api.seen(lambda sent: sent.thread == FRONT and "· answered" in sent.text, timeout=20)
    assert {sent.thread for sent in api.history} <= {FRONT, CAREER}

    blocks = [block for prompt in home.prompts("career") for block in prompt]
    assert blocks == [{"type": "text", "text": briefing.MAIL_NOTICE}]
    every = json.dumps([home.prompts(name) for name in ("front-desk", "career", "other")])
    assert "CANARY-7731" not in every
    assert home.prompts("other") == []


async def test_a_persons_own_handoff_and_its_answer_in_the_topic_where_it_was_typed(home: Home, api: BotApi) -> None:
    office(home, api)
    await home.up()
    api.say("/handoff career judge it", chat=CHAT, thread=FRONT, user=111)
    await api.seen(lambda sent: sent.thread == FRONT and "→ career: judge it" in sent.text, timeout=20)
    await api.seen(lambda sent: sent.thread == FRONT and sent.text.startswith("career: "), timeout=20)
    assert home.prompts("front-desk") == []


async def test_strangers_general_and_unbound_topics_start_nothing(home: Home, api: BotApi) -> None:
    office(home, api)
    await home.up()
    api.say("offer from a stranger", chat=CHAT, thread=FRONT, user=999)
    api.say("offer in General", chat=CHAT, thread=None, user=111)
    api.say("/sessions", chat=CHAT, thread=FRONT, user=111)
    listed = await api.seen(lambda sent: "default/career" in sent.text, timeout=20)
    assert listed.thread == FRONT
    assert home.prompts("front-desk") == []
    assert [sent.thread for sent in api.history] == [FRONT]


async def test_a_second_request_queues_while_the_recipient_is_busy_and_stop_ends_it(home: Home, api: BotApi) -> None:
    office(home, api)
    home.limits(stop_grace_s=1)
    await home.up()
    api.say("do: hang", chat=CHAT, thread=CAREER, user=111)
    api.say("look at this offer", chat=CHAT, thread=FRONT, user=111)
    await api.seen(lambda sent: sent.thread == FRONT and "queued, 1st in line" in sent.text, timeout=20)
    api.say("/stop", chat=CHAT, thread=CAREER, user=111)
    await api.seen(lambda sent: sent.thread == CAREER and "The turn is stopped" in sent.text, timeout=20)
    api.say("/resume", chat=CHAT, thread=CAREER, user=111)
    await api.seen(lambda sent: sent.thread == FRONT and "career: the offer is sound" in sent.text, timeout=20)
