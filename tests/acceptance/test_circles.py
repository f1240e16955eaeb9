"""Agents that keep each other at work come to an end: the real bridge, agents and tools.

Only the chat takes no time: Telegram's limits would let people wait for minutes for what agents do in seconds.
"""

import json

from adapters.compose import bridge
from adapters.settings.load import load
from bridge.ids import Place
from bridge.ports.chat import Heard
from tests.acceptance.home import PATIENCE_S, Home
from tests.fakes.chat import FakeChat
from tests.flow.stage import OPERATOR

FIRST = {"a0": "nine", "a1": "three", "a3": "two"}
"""The first of nine in a circle, of three in a circle, and of two that answer each other; and the word to begin."""


def room(name: str) -> Place:
    return Place(f"cli:{name}")


def sends(to: int, text: str, intent: str) -> str:
    return f"call peer_send {json.dumps({'to': f'a{to}', 'text': text, 'intent': intent})}"


def on(word: str, to: int) -> list[dict[str, object]]:
    """Whoever says that word has it passed on."""
    return [{"on": each, "match": word, "script": sends(to, word, "inform")} for each in ("prompt", "mail")]


def nine_agents(home: Home) -> None:
    """They go round as nine and as three, and two of them, a3 and a4, ask and answer for ever."""
    home.rule("default/*", "default/*")
    asks: dict[str, object] = {"script": sends(4, "more", "request")}
    more: dict[int, list[dict[str, object]]] = {
        3: [{"on": "prompt", "match": "two", **asks}, {"on": "mail", "intent": "reply", **asks}],
        4: [{"on": "mail", "match": "more", "script": "say ask me more"}],
    }
    for number in range(9):
        three = on("three", (number + 1) % 3) if number < 3 else []
        rules = [*on("nine", (number + 1) % 9), *three, *more.get(number, [])]
        home.worker(f"a{number}", *rules, places=[room(f"a{number}")] if f"a{number}" in FIRST else [])


async def test_circles_are_bounded_as_configured_and_people_are_told_once_with_the_picture(home: Home) -> None:
    nine_agents(home)
    home.limits(depth=10, visits=2, conversation_messages=11)
    home.write()
    chat = FakeChat("cli")
    async with bridge(load(home.path, home.environ), home.environ, chats=[chat]) as exchange:
        for name, word in FIRST.items():
            await exchange.inbound.hear(Heard(room(name), OPERATOR, word, f"{room(name)}:1"))
        for name in FIRST:
            await chat.seen(room(name), "Stopped", PATIENCE_S)
    assert {name: told(chat, name) for name in FIRST} == {
        "a0": [
            "a1 → a2 was refused (depth_limit",
            "a0 → a1: 2 messages",
            *(f"a{number} → a{(number + 1) % 9}: 1 message" for number in range(1, 9)),
        ],
        "a1": [
            "a1 → a2 was refused (visit_limit",
            *(f"a{one} → a{other}: 2 messages" for one, other in ((1, 2), (2, 0), (0, 1))),
        ],
        "a3": ["a3 → a4 was refused (conversation_budget", "a3 → a4: 11 messages", "a4 → a3: 11 messages"],
    }


def told(chat: FakeChat, name: str) -> list[str]:
    """What the people there were told of the end of a conversation, once: the first line, and the picture."""
    (text,) = (post.text for post in chat.deliveries if post.place == room(name) and "Stopped" in post.text)
    first, *picture = text.splitlines()
    return [first.removeprefix("Stopped: ").partition(":")[0], *(line.removeprefix("· ") for line in picture)]
