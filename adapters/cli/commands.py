"""The commands that ask the bridge once and show what it says."""

import argparse
import os
import time
from collections.abc import Iterator
from typing import Any

from adapters.cli import exits, reading
from adapters.cli.connection import Connection, Dropped, NoBridge, quoted, utf8
from adapters.cli.output import columns, note, record, say
from adapters.cli.plain import one_line
from adapters.cli.text import text_of
from bridge.errors import Code, Refused

_POLL_S = 0.05


def status(bridge: Connection, options: argparse.Namespace) -> int:
    end = time.monotonic() + options.wait
    while True:
        try:
            found = bridge.get("/v1/status")
            break
        except (NoBridge, Dropped):
            if time.monotonic() >= end:
                raise
            time.sleep(_POLL_S)
    if options.json:
        record(found)
        return exits.OK
    for name, value in reading.status(found):
        say(f"{name:9} {one_line(value)}")
    return exits.OK


def sessions(bridge: Connection, options: argparse.Namespace) -> int:
    found: list[dict[str, Any]] = []
    active = "true" if options.active else "false"
    cursor: str | None = ""
    while cursor is not None:
        every = "&all=true" if options.all else ""
        page = bridge.get(
            f"/v1/sessions?active={active}&limit=200{every}" + (f"&cursor={quoted(cursor)}" if cursor else "")
        )
        found += page["sessions"]
        cursor = page["next_cursor"]
    if options.json:
        for one in found:
            record(one)
        return exits.OK
    shown = ("id", "kind", "activity", "reachable", "busy", "unsettled", "places", "title")
    rows = [[_value(one[key]) for key in shown] for one in found if options.all or one["parent"] is None]
    columns([["SESSION", "KIND", "ACTIVITY", "REACHABLE", "BUSY", "MAIL", "PLACES", "TITLE"], *rows])
    return exits.OK


def new_session(bridge: Connection, options: argparse.Namespace) -> int:
    wanted: dict[str, Any] = {
        "handle": options.handle,
        "agent": options.agent,
        "cwd": None if options.cwd is None else _directory(options.cwd),
        "place": options.place,
        "title": options.title,
        "key": options.key,
        "topic": _chat(options.topic),
    }
    started_with = {
        "model": options.model,
        "mode": options.mode,
        "preamble": None if options.preamble is None else text_of(options.preamble),
        "servers": {name: {"command": command} for name, command in options.servers},
        "files": options.files,
        "hooks": options.hooks,
        "safe": options.safe,
        "label": options.label,
        "fallback": options.fallback,
    }
    if len(started_with["servers"]) < len(options.servers):
        raise Refused(Code.INVALID_REQUEST, "a server is named twice", remedy="Give each a name of its own.")
    for value in (*wanted.values(), *_texts(started_with)):
        utf8(value or "")
    wanted["options"] = {name: value for name, value in started_with.items() if value}
    made = bridge.post("/v1/sessions", wanted)
    if options.json:
        record(made)
    elif made["waits_for"]:
        say(f"{made['id']} waits for an operator at {made['waits_for'][0]}")
    else:
        what = "mail with --wake starts its agent" if made["reachable"] == "wake" else "its mail waits to be read"
        say(f"{made['id']} is ready: {what}")
    return exits.OK


def session(bridge: Connection, options: argparse.Namespace) -> int:
    actions = {"new": new_session, "stop": stop, "resume": resume, "renew": renew, "topic": topic, **_TOKENS}
    return actions[options.action](bridge, options)


def topic(bridge: Connection, options: argparse.Namespace) -> int:
    utf8(options.chat or "")
    made = bridge.post(f"{_of_session(options)}/topic", {"chat": _chat(options.chat)})
    if options.json:
        record(made)
    elif made["waits_for"]:
        say(f"a topic for {made['session']} waits for an operator at {made['waits_for'][0]}")
    else:
        say(f"{made['session']} has a topic: {made['link'] or made['place']}")
    return exits.OK


def _chat(wanted: str | None) -> str | None:
    """A number alone is a chat of Telegram."""
    return f"telegram:{wanted}" if wanted and wanted.removeprefix("-").isdecimal() else wanted


def token(bridge: Connection, options: argparse.Namespace) -> int:
    """The token alone goes to stdout, so that a script can keep it."""
    utf8(options.name)
    made = bridge.post(f"{_of_session(options)}/tokens", {"name": options.name})
    if options.json:
        record(made)
        return exits.OK
    if made["waits_for"]:
        note(f"it stands for nobody until an operator accepts it at {made['waits_for'][0]}")
    note("it is shown this once; its client gets it as TIELINE_TOKEN, or as Authorization: Bearer")
    say(made["token"])
    return exits.OK


def tokens(bridge: Connection, options: argparse.Namespace) -> int:
    found = bridge.get(f"{_of_session(options)}/tokens")["tokens"]
    if options.json:
        for one in found:
            record(one)
        return exits.OK
    rows = [[_value(one[key]) for key in ("name", "made_at", "used_at")] for one in found]
    columns([["NAME", "MADE", "LAST USED"], *rows])
    return exits.OK


def revoke(bridge: Connection, options: argparse.Namespace) -> int:
    done = bridge.post(f"{_of_session(options)}/tokens/{quoted(options.name)}/revoke", {})
    if options.json:
        record(done)
    else:
        say(f"{done['name']} of {done['session']} stands for nobody any more")
    return exits.OK


_TOKENS = {"token": token, "tokens": tokens, "revoke": revoke}


def _of_session(options: argparse.Namespace) -> str:
    return f"/v1/sessions/{quoted(options.handle)}"


def stop(bridge: Connection, options: argparse.Namespace) -> int:
    done = bridge.post(f"/v1/sessions/{quoted(options.handle)}/stop", {"everything": options.all})
    if options.json:
        record(done)
        return exits.OK
    cancelled = f", and {done['cancelled']} queued cancelled" if options.all else ""
    what = "its turn is stopped" if done["stopped"] else "no turn was running"
    say(f"{options.handle}: {what}{cancelled}; peers wait until: tieline session resume {options.handle}")
    return exits.OK


def resume(bridge: Connection, options: argparse.Namespace) -> int:
    done = bridge.post(f"/v1/sessions/{quoted(options.handle)}/resume", {})
    if options.json:
        record(done)
    elif done["waits_for"]:
        say(f"{options.handle} waits for an operator at {done['waits_for'][0]}")
    else:
        say(f"{options.handle} {'takes work again' if done['resumed'] else 'was not stopped'}")
    return exits.OK


def renew(bridge: Connection, options: argparse.Namespace) -> int:
    done = bridge.post(f"/v1/sessions/{quoted(options.handle)}/renew", {})
    if options.json:
        record(done)
    elif done["waits_for"]:
        say(f"{options.handle} waits for an operator at {done['waits_for'][0]}")
    else:
        failed = f"; closed as failed: {done['failed']} that it had read" if done["failed"] else ""
        say(f"{options.handle} begins afresh, with the settings of now{failed}")
    return exits.OK


def send(bridge: Connection, options: argparse.Namespace) -> int:
    body = {
        "to": options.to,
        "text": text_of(options.text),
        "intent": options.intent,
        "wake": options.wake,
        "in_reply_to": options.reply_to,
        "key": options.key,
        "ttl_s": options.ttl,
    }
    receipt = bridge.post("/v1/send", body)
    if options.json:
        record(receipt)
        return exits.OK
    waits = "; it waits to be read" if receipt["state"] == "queued" and not receipt["wake"] else ""
    again = " (sent before, with the same key)" if receipt["duplicate"] else ""
    until = f"; not before {receipt['waits_until']}" if receipt["waits_until"] else ""
    say(f"{receipt['message_id']} to {receipt['to']}: {reading.where(receipt)}{waits}{until}{again}")
    return exits.OK


def cancel(bridge: Connection, options: argparse.Namespace) -> int:
    view = bridge.post(f"/v1/messages/{quoted(options.id)}/cancel", {})
    if options.json:
        record({key: view[key] for key in ("message_id", "conversation_id", "state", "answer", "reply")})
    else:
        say(f"{view['message_id']}: {view['answer']}")
    return exits.OK


def ack(bridge: Connection, options: argparse.Namespace) -> int:
    acked = bridge.post("/v1/ack", {"message_ids": options.ids})["acked"]
    if options.json:
        record({"acked": acked})
    else:
        say(f"{len(acked)} of {len(options.ids)} settled")
    return exits.OK


def trace(bridge: Connection, options: argparse.Namespace) -> int:
    steps = bridge.get(f"/v1/traces/{quoted(options.id)}")["steps"]
    if options.json:
        for step in steps:
            record(step)
        return exits.OK
    say(f"since {steps[0]['at']}")
    columns(list(reading.trace(steps)))
    return exits.OK


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in [*value, *value.values()] if isinstance(value, dict) else value:
            yield from _texts(one)


def _directory(path: str) -> str:
    """As an absolute path, for the bridge works in another directory than the person who types it."""
    absolute = os.path.abspath(os.path.expanduser(path))
    if not os.path.isdir(absolute):
        note(f"{absolute} is no directory yet: make it, or the agent cannot start")
    return absolute


def _value(value: Any) -> str:
    if value is None or value == []:
        return "-"
    return one_line(", ".join(map(str, value)) if isinstance(value, list) else str(value))
