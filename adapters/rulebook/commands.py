"""`tieline policy check`, `explain` and `simulate`."""

import argparse
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from time import time
from typing import Any

from adapters.cli import exits, output
from adapters.cli.connection import Connection, quoted, socket_path
from adapters.cli.plain import visible
from adapters.rulebook.sessions import named, parties
from adapters.settings.home import home_of
from adapters.settings.load import checked, drafted
from adapters.settings.model import Settings
from adapters.settings.problems import SettingsError
from bridge.decision import Circumstances, Effect, Verb, Verdict
from bridge.errors import Code, Refused
from bridge.ids import SessionId
from bridge.message import Origin
from policy import as_json, as_text
from policy.check import Level
from policy.check import check as findings_of
from policy.explain import explain as explanation_of
from policy.simulate import simulate as simulation_of


def policy(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Raises `Refused` for a question that makes no sense."""
    try:
        return _LOOKS[options.action](options, environ)
    except SettingsError as error:
        if options.json:
            for problem in error.problems:
                refusal = Refused(Code.INVALID_REQUEST, f"{problem.where}: {problem.what}", remedy=problem.remedy)
                output.refused(refusal, as_json=True)
        else:
            output.note(str(error))
        return exits.CONFIG


def check(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Returns 78 where a rule can never match or names a session that does not exist, else 0."""
    settings = _settings(options.file, environ)
    sessions = parties(settings)
    for other in options.others:
        sessions = {**parties(drafted(Path(other), environ)), **sessions}
    found = findings_of(settings.rules, list(sessions.values()))
    if options.json:
        for finding in found:
            output.record(as_json.finding(finding))
    else:
        for line in as_text.findings(found, len(settings.rules), len(sessions)):
            output.say(visible(line))
    return exits.CONFIG if any(finding.level is Level.ERROR for finding in found) else exits.OK


def explain(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """By the file alone: what people have granted at run time is known to a running bridge."""
    settings = _settings(options.file, environ)
    known = parties(settings)
    sender, recipient = (named(text, settings.profile, known) for text in (options.sender, options.recipient))
    if sender.id == recipient.id:
        raise Refused(Code.SELF_SEND, f"{sender.id} sends nothing to itself")
    no_grant_counts = Circumstances(0.0, None)
    told = explanation_of(settings.rules, (), sender, recipient, _verb(options.verb), no_grant_counts)
    if options.json:
        output.record(as_json.explanation(told))
    else:
        for line in as_text.explanation(told, _moment):
            output.say(visible(line))
    return exits.OK


def simulate(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """What other rules would have said of what the running bridge has decided lately. Raises `NoBridge`."""
    now, then = _settings(None, environ), drafted(Path(options.file), environ)
    done = simulation_of(_recorded(environ, options.since), parties(now).values(), now.rules, then.rules)
    if options.json:
        output.record(as_json.simulation(done))
    else:
        for line in as_text.simulation(done):
            output.say(visible(line))
    return exits.OK


def _recorded(environ: Mapping[str, str], since_s: float) -> Iterator[Verdict]:
    """The newest first."""
    bridge = Connection(socket_path(environ), environ.get("TIELINE_TOKEN") or None, environ.get("TIELINE_SESSION"))
    begin, before = time() - since_s, ""
    while True:
        page = bridge.get("/v1/audit?limit=200" + (f"&before={quoted(before)}" if before else ""))
        for record in page["records"]:
            if datetime.fromisoformat(record["at"]).timestamp() < begin:
                return
            if record["what"] == "decision":
                yield _verdict(record)
        if page["next_before"] is None:
            return
        before = page["next_before"]


def _verdict(record: Mapping[str, Any]) -> Verdict:
    detail = record["detail"]
    return Verdict(
        id=record["id"],
        at=datetime.fromisoformat(record["at"]).timestamp(),
        sender=SessionId(detail["from"]),
        recipient=detail["to"],
        origin=Origin(record["origin"]),
        verbs=tuple(detail["verbs"]),
        effect=Effect(detail["effect"]),
        rule=detail["rule"],
        reason=detail["reason"],
        code=Code(detail["code"]) if "code" in detail else None,
    )


_LOOKS: dict[str, Callable[[argparse.Namespace, Mapping[str, str]], int]] = {
    "check": check,
    "explain": explain,
    "simulate": simulate,
}


def _settings(file: str | None, environ: Mapping[str, str]) -> Settings:
    return checked(home_of(environ), environ) if file is None else drafted(Path(file), environ)


def _verb(text: str) -> Verb:
    try:
        return Verb(text)
    except ValueError:
        raise Refused(Code.INVALID_REQUEST, f"{text!r} is no verb", remedy=f"Use one of {', '.join(Verb)}.") from None


def _moment(time: float) -> str:
    return f"{datetime.fromtimestamp(time).astimezone():%Y-%m-%d %H:%M %Z}"
