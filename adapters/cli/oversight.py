"""The commands by which people decide what agents may do."""

import argparse
from typing import Any

from adapters.cli import exits
from adapters.cli.connection import Connection, quoted
from adapters.cli.output import columns, note, record, say
from adapters.cli.plain import indented, one_line


def approvals(bridge: Connection, options: argparse.Namespace) -> int:
    if options.action is None:
        return _list_held(bridge, options)
    body = {"verdict": options.action}
    if options.action == "approve":
        body["scope"] = options.scope
    done = bridge.post(f"/v1/approvals/{quoted(options.id)}", body)
    if options.json:
        record(done)
    else:
        waits = f" ({done['waits_for'][0]})" if done["waits_for"] else ""
        say(f"{done['message_id']}: {one_line(done['said'])}{waits}")
    return exits.of_decision(options.action, done["state"], done["outcome"])


def _list_held(bridge: Connection, options: argparse.Namespace) -> int:
    held = bridge.get("/v1/approvals")["approvals"]
    for one in held:
        if options.json:
            record({key: one[key] for key in ("message_id", "from", "to", "verbs", "text", "depth", "expires_at")})
        else:
            verbs = ", ".join(one["verbs"])
            say(one_line(f"{one['message_id']}  {one['from']} → {one['to']} ({verbs})  until {one['expires_at']}"))
            say(indented(one["text"]))
    if not held and not options.json:
        say("nothing waits for approval")
    return exits.OK


def policy(bridge: Connection, options: argparse.Namespace) -> int:
    match options.action:
        case "allow" | "deny":
            return _grant(bridge, options)
        case "list":
            return _list_grants(bridge, options)
        case "revoke":
            return _said(options, bridge.post(f"/v1/grants/{quoted(options.id)}/revoke", {}), "revoked")
        case _:
            now = bridge.post(f"/v1/{options.action}", {})
            if options.json:
                record(now)
            elif now["waits_for"]:
                say(f"agents reach each other again once an operator accepts it at {now['waits_for'][0]}")
            elif now["paused"]:
                say(f"paused by {one_line(now['by'])}: no agent reaches another")
                say("until: tieline policy resume, or /policy resume in a chat")
            else:
                say("agents reach each other again")
            return exits.OK


def _grant(bridge: Connection, options: argparse.Namespace) -> int:
    wanted = {
        "from": options.sender,
        "to": options.to,
        "verbs": options.verbs.split(","),
        "scope": options.scope,
        "effect": options.action,
        "conversation_id": options.conversation,
        "life_s": options.life,
    }
    given = bridge.post("/v1/grants", wanted)
    if given["denied_by"] and not options.json:
        by, denied = (", ".join(given[key]) for key in ("denied_by", "denied"))
        note(f"{denied} is still denied by {by}: a grant undoes no deny")
    return _said(options, given, "holds")


def _said(options: argparse.Namespace, grant: dict[str, Any], what: str) -> int:
    if options.json:
        record(grant)
    else:
        waits = f"waits for an operator at {grant['waits_for'][0]}" if grant["waits_for"] else what
        say(one_line(f"{grant['id']}: {_told(grant)}: {waits}"))
    return exits.OK


def _told(grant: dict[str, Any]) -> str:
    return f"{grant['effect']} {grant['from']} → {grant['to']} ({', '.join(grant['verbs'])}; {grant['scope']})"


def _list_grants(bridge: Connection, options: argparse.Namespace) -> int:
    grants = bridge.get("/v1/grants")["grants"]
    if options.json:
        for one in grants:
            record(one)
        return exits.OK
    if not grants:
        say("nothing is granted beside the rules of tieline.toml")
        return exits.OK
    rows = [[one[key] or "-" for key in ("effect", "from", "to")] + _rest(one) for one in grants]
    columns([["EFFECT", "FROM", "TO", "VERBS", "SCOPE", "UNTIL", "BY", "ID"], *rows])
    return exits.OK


def _rest(one: dict[str, Any]) -> list[str]:
    return [",".join(one["verbs"]), one["scope"], one["expires_at"] or "-", one["by"], one["id"]]


def audit(bridge: Connection, options: argparse.Namespace) -> int:
    """The newest at the end, as in a log."""
    found: list[dict[str, Any]] = []
    before: str | None = ""
    while before is not None and len(found) < options.limit:
        count = min(200, options.limit - len(found))
        page = bridge.get(f"/v1/audit?limit={count}" + (f"&before={quoted(before)}" if before else ""))
        found += page["records"]
        before = page["next_before"]
    for one in reversed(found):
        if options.json:
            record(one)
        else:
            say(one_line(f"{one['at']}  {one['what']:9}  {one['by']}  {_detail(one)}"))
    return exits.OK


def _detail(one: dict[str, Any]) -> str:
    detail = one["detail"]
    if one["what"] == "granted":
        until = f" until {detail['expires_at']}" if detail.get("expires_at") else ""
        deed = f"{detail['sender']} → {detail['to']} ({', '.join(detail['verbs'])})"
        return f"{deed}: {detail['effect']}, {detail['scope']}{until} · {one['subject']}"
    if one["what"] == "reloaded":
        counts = ((detail.get("waits"), "wait for an operator"), (detail.get("unasked"), "hold, with nobody to ask"))
        wider = [f"{count} that let agents do more {what}" for count, what in counts if count]
        return ": ".join(["it was read again", *wider])
    if one["what"] != "decision":
        told = [f"{name} {value}" for name, value in detail.items() if name not in ("via", "verbs")]
        return " · ".join([one["subject"], *told])
    verbs = ", ".join(detail["verbs"]) or "input"
    word = detail.get("code") or detail["effect"]
    by = "" if detail["rule"] == word else f" by {detail['rule']}"
    return f"{detail['from']} → {detail['to']} ({verbs}): {word}{by}"
