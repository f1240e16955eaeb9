"""The home of the demo: its settings, and what its agents do."""

import json
import sys
from pathlib import Path

Rule = dict[str, object]


def _hands(word: str, to: str, text: str, said: str) -> Rule:
    """Whoever writes that word has its work handed on."""
    call = json.dumps({"to": to, "text": text})
    return {"on": "prompt", "match": word, "script": [f"call peer_send {call}", f"say {said}"]}


def _knows(word: str, *script: str) -> list[Rule]:
    """The answer is the same whether another agent asks or a person."""
    return [{"on": on, "match": word, "script": list(script)} for on in ("mail", "prompt")]


def _else(*words: str) -> list[Rule]:
    known = f"I am a script, and know these words: {', '.join(words)}." if words else "I am a script, and know nothing."
    return [{"on": on, "script": f"say {known}"} for on in ("mail", "prompt")]


def _plays(word: str, to: str) -> str:
    return f"call peer_send {json.dumps({'to': to, 'text': word, 'intent': 'inform'})}"


PERSONAS: dict[str, list[Rule]] = {
    "front-desk": [
        _hands(
            "recruiter",
            "career",
            "A recruiter of Initech offers me a job. Is it serious?",
            "I have handed this to Career.",
        ),
        _hands("salary", "career", "Which salary should I ask of Initech?", "Career will say."),
        _hands("pay", "finance", "Pay 900 to Initech for the course.", "Finance did not take it."),
        _hands("trip", "travel", "Book a train to Initech for Friday, for 80.", "Travel does it once you approve it."),
        {"on": "mail", "intent": "reply", "match": "register", "script": "say It is serious: I write it on your list."},
        {"on": "mail", "intent": "reply", "match": "95k", "script": "say Then I ask them for 95k."},
        {"on": "mail", "intent": "reply", "script": "say I was told: $text"},
        *_else("recruiter", "salary", "pay", "trip"),
    ],
    "career": [
        *_knows(
            "serious", "tool search the register", "wait 1.2", "say Yes: Initech is in the register, and is hiring."
        ),
        *_knows("salary", "wait 0.4", "say Ask for 95k; they paid 90k last year."),
        *_knows("how many", "say Two are open: Initech and Hooli."),
        *_else("serious", "salary", "how many"),
    ],
    "finance": _else(),
    "travel": [*_knows("train", "say It is booked: Friday at 8."), *_else("train")],
    "ping": [
        {"on": "prompt", "match": "play", "script": _plays("ping", "pong")},
        {"on": "mail", "script": _plays("ping", "pong")},
        *_else("play"),
    ],
    "pong": [{"on": "mail", "script": _plays("pong", "ping")}, *_else()],
}

_RULES = """
[[policy.rules]]
from = "default/front-desk"
to = ["default/career"]
verbs = ["discover", "send", "ask", "wake"]
effect = "allow"

[[policy.rules]]
from = "default/front-desk"
to = ["default/finance"]
verbs = ["discover"]
effect = "allow"

[[policy.rules]]
from = "default/front-desk"
to = ["default/finance"]
verbs = ["send", "ask", "wake"]
effect = "deny"

[[policy.rules]]
from = "default/front-desk"
to = ["default/travel"]
verbs = ["discover", "send", "ask", "wake"]
effect = "ask"

[[policy.rules]]
from = ["default/ping", "default/pong"]
to = ["default/ping", "default/pong"]
verbs = ["discover", "send", "wake"]
effect = "allow"

[[policy.rules]]
from = "default/shell"
to = ["default/career"]
verbs = ["discover", "send", "ask", "wake"]
effect = "allow"
"""


def furnish(home: Path) -> None:
    """Writes settings and personas into an empty home."""
    tables = ['profile = "default"', "[limits]", "depth = 4", "visits = 9"]
    for name, rules in PERSONAS.items():
        persona = home / f"{name}.json"
        persona.write_text(json.dumps({"rules": rules}), encoding="utf-8")
        state = home / "agents" / name
        state.mkdir(parents=True)
        command = [sys.executable, "-P", "-m", "adapters.scripted", "--persona", str(persona), "--state", str(state)]
        tables += [f"[agents.{name}]", f"command = {json.dumps(command)}"]
        tables += [f"[sessions.{name}]", f'agent = "{name}"', f"cwd = {json.dumps(str(home))}"]
        tables += [f'places = ["cli:{name}"]']
    (home / "tieline.toml").write_text("\n".join(tables) + "\n" + _RULES, encoding="utf-8")
