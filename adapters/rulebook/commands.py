"""`tieline policy check`, `explain` and `simulate`."""

import argparse
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from time import time

from adapters.cli import exits, output
from adapters.cli.connection import Dropped, NoBridge
from adapters.cli.plain import visible
from adapters.rulebook.notes import has_operators, notes
from adapters.rulebook.running import Running
from adapters.rulebook.sessions import children, named, parties, spawned
from adapters.settings.home import home_of
from adapters.settings.load import checked, drafted
from adapters.settings.model import Settings
from adapters.settings.problems import SettingsError
from bridge.decision import Circumstances, Effect, Verb
from bridge.errors import Code, Refused
from bridge.grant import HANDING_WORK, Grant
from bridge.phrases import counted
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
    found = findings_of(settings.rules, [*sessions.values(), *children(settings)])
    if options.json:
        for finding in found:
            output.record(as_json.finding(finding))
    else:
        for line in as_text.findings(found, len(settings.rules), len(sessions)):
            output.say(visible(line))
    asking = sum(rule.effect is Effect.ASK for rule in settings.rules)
    if asking and not has_operators(settings):
        said = "asks" if asking == 1 else "ask"
        output.note(f"{counted(asking, 'rule')} {said} a person, and there are no operators: what is asked is refused")
    return exits.CONFIG if any(finding.level is Level.ERROR for finding in found) else exits.OK


def explain(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """By the file, and where that is the home's own by what a running bridge knows beside it: what people have granted,
    the sessions that were made at run time, and whether it decides so by now. Without a verb, of all that matter. A
    recipient like `agent:NAME` is the child that the sender would spawn for that agent."""
    settings = _settings(options.file, environ)
    verb = _verb(options.verb) if options.verb is not None else None
    known, grants, running = parties(settings), list[Grant](), None
    if options.file is None:
        try:
            running = Running(environ)
            known, grants = {**running.parties(), **known}, running.grants()
        except (NoBridge, Dropped, Refused) as error:
            output.note(f"by the file alone, for what people have granted is not known: {error}")
            running = None
    sender = named(options.sender, settings.profile, known)
    child = spawned(options.recipient, settings, sender)
    if child is not None and verb not in (None, Verb.SPAWN):
        remedy = "Parent and child may talk as far as nothing denies it; of others, no more than of its parent is said."
        raise Refused(Code.INVALID_REQUEST, "what is not there yet can only be spawned", remedy=remedy)
    verb = Verb.SPAWN if child is not None else verb
    recipient = child or named(options.recipient, settings.profile, known)
    if sender.id == recipient.id:
        raise Refused(Code.SELF_SEND, f"{sender.id} sends nothing to itself")
    around = Circumstances(time(), None)
    every = [
        explanation_of(settings.rules, grants, sender, recipient, one, around)
        for one in ([verb] if verb is not None else Verb)
    ]
    told = [one for one in every if verb is not None or one.verb in HANDING_WORK or one.decider is not None]
    noted = [
        list(
            notes(one, settings, running.decision(sender.id, recipient.id, one.verb) if running and not child else None)
        )
        for one in told
    ]
    if options.json:
        for one, those in zip(told, noted, strict=True):
            output.record(as_json.explanation(one, those))
        return exits.OK
    lines = as_text.overview(told, noted) if verb is None else as_text.explanation(told[0], _moment, noted[0])
    for line in lines:
        output.say(visible(line))
    return exits.OK


def simulate(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """What other rules would have said of what the running bridge has decided lately. Raises `NoBridge`."""
    now, then = _settings(None, environ), drafted(Path(options.file), environ)
    done = simulation_of(Running(environ).decided(options.since), parties(now).values(), now.rules, then.rules)
    if options.json:
        output.record(as_json.simulation(done))
    else:
        for line in as_text.simulation(done):
            output.say(visible(line))
    return exits.OK


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
