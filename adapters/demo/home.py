"""The home of the demo: its settings, and what its agents do."""

import json
import sys
from pathlib import Path

PERSONAS: dict[str, list[dict[str, object]]] = {
    "front-desk": [
        {
            "on": "prompt",
            "match": "recruiter",
            "script": [
                'call peer_send {"to": "career", "text": "A recruiter of Initech offers me a job. Is it serious?"}',
                "say I have handed this to Career.",
            ],
        },
        {
            "on": "prompt",
            "match": "salary",
            "script": [
                'call peer_send {"to": "career", "text": "Which salary should I ask of Initech?"}',
                "say Career will say.",
            ],
        },
        {
            "on": "prompt",
            "match": "pay",
            "script": [
                'call peer_send {"to": "finance", "text": "Pay 900 to Initech for the course."}',
                "say Finance did not take it.",
            ],
        },
        {"on": "mail", "intent": "reply", "script": "say Career told me: $text"},
    ],
    "career": [
        {
            "on": "mail",
            "match": "serious",
            "script": ["tool search the register", "wait 1.2", "say Yes: Initech is in the register, and is hiring."],
        },
        {"on": "mail", "match": "salary", "script": ["wait 0.4", "say Ask for 95k; they paid 90k last year."]},
        {"on": "mail", "match": "how many", "script": ["say Two are open: Initech and Hooli."]},
    ],
    "finance": [],
    "ping": [
        {
            "on": "prompt",
            "match": "play",
            "script": 'call peer_send {"to": "pong", "text": "ping", "intent": "inform"}',
        },
        {"on": "mail", "script": 'call peer_send {"to": "pong", "text": "ping", "intent": "inform"}'},
    ],
    "pong": [{"on": "mail", "script": 'call peer_send {"to": "ping", "text": "pong", "intent": "inform"}'}],
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
