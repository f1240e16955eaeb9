"""`tieline inbox`: what waits to be read, and what arrives."""

import argparse
import sys
import time
from typing import Any, NoReturn

from adapters.cli import exits, reading
from adapters.cli.connection import Connection, Dropped, NoBridge
from adapters.cli.output import note, record, say
from adapters.cli.plain import indented

_WAIT_S = 25
_RETRY_S = 1.0
_MANY = 1000


def inbox(bridge: Connection, options: argparse.Namespace) -> int:
    found = _fetch(bridge, options)
    for mail in found:
        _show(mail, options)
    if not options.json:
        _hint(found, options)
    if options.follow:
        _follow(bridge, options, _ids(found))
    return exits.OK


def _follow(bridge: Connection, options: argparse.Namespace, known: set[str]) -> NoReturn:
    """Shows what arrives until it is interrupted, and through restarts of the bridge."""
    away = False
    while True:
        try:
            body = {"known": sorted(known), "timeout_s": _WAIT_S}
            arrived = bridge.post("/v1/inbox/wait", body)["messages"]
            fresh = _fetch(bridge, options) if options.take and arrived else arrived
            for mail in fresh:
                if mail["message_id"] not in known:
                    _show(mail, options)
            known |= _ids(arrived) | _ids(fresh)
            if len(known) > _MANY:
                known &= _ids(_view(bridge, options))
            away = False
        except (NoBridge, Dropped):
            if not away:
                note("the bridge went away; waiting for it")
            away = True
            time.sleep(_RETRY_S)


def _hint(found: list[dict[str, Any]], options: argparse.Namespace) -> None:
    """What to do next, for a person."""
    if not found:
        note("no mail")
    elif options.take:
        note("taken; settle it with: tieline ack ID, else it comes again")
    elif sys.stdout.isatty():
        note("settle what you have read with: tieline ack ID")
    if sys.stdout.isatty() and any(mail["intent"] == "request" for mail in found):
        note("answer a request with: tieline send FROM TEXT --reply-to ID")


def _ids(mail: list[dict[str, Any]]) -> set[str]:
    return {one["message_id"] for one in mail}


def _fetch(bridge: Connection, options: argparse.Namespace) -> list[dict[str, Any]]:
    if options.take:
        messages: list[dict[str, Any]] = bridge.post("/v1/inbox/take", {})["messages"]
        return messages
    return _view(bridge, options)


def _view(bridge: Connection, options: argparse.Namespace) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = bridge.get("/v1/inbox")["messages"]
    return messages


def _show(mail: dict[str, Any], options: argparse.Namespace) -> None:
    if options.json:
        record(mail)
        return
    say(f"{reading.mail(mail)}\n{indented(mail['text'])}")
