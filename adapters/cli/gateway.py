"""`tieline gateway`: which gateways may link themselves with the bridge."""

import argparse

from adapters.cli import exits
from adapters.cli.connection import Connection, quoted, utf8
from adapters.cli.output import columns, note, record, say


def gateway(bridge: Connection, options: argparse.Namespace) -> int:
    actions = {"pair": _pair, "list": _list, "remove": _remove}
    return actions[options.action](bridge, options)


def _pair(bridge: Connection, options: argparse.Namespace) -> int:
    utf8(options.name)
    paired = bridge.post("/v1/gateways", {"name": options.name})
    if options.json:
        record(paired)
        return exits.OK
    say(paired["token"])
    note("This is its token, which is shown this once: put it where the gateway reads it, and nowhere else.")
    if paired["waits_for"]:
        note(f"It opens nothing until an operator accepts it at {paired['waits_for'][0]}.")
    note("Then start the gateway again; tieline doctor tells how its link is.")
    return exits.OK


def _list(bridge: Connection, options: argparse.Namespace) -> int:
    found = bridge.get("/v1/gateways")["gateways"]
    if options.json:
        for one in found:
            record(one)
        return exits.OK
    rows = [
        [
            one["name"],
            "yes" if one["linked"] else "no",
            str(one["sessions"]),
            one["paired_at"],
            one["seen_at"] or "never",
        ]
        for one in found
    ]
    columns([["GATEWAY", "LINKED", "SESSIONS", "PAIRED", "SEEN"], *rows])
    return exits.OK


def _remove(bridge: Connection, options: argparse.Namespace) -> int:
    removed = bridge.post(f"/v1/gateways/{quoted(options.name)}/remove", {})
    if options.json:
        record(removed)
    else:
        say(f"{removed['name']} is removed: its link is cut, and its sessions are closed")
    return exits.OK
