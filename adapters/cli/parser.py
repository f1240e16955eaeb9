"""The command line, and what it may hold."""

import argparse
from typing import NoReturn

from bridge import duration
from bridge.errors import Refused


class UsageError(Exception):
    """The arguments make no sense. `program` is what has a help about it."""

    def __init__(self, reason: str, program: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.program = program


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, self.prog)


class _Version(argparse.Action):
    def __call__(self, *_: object) -> NoReturn:
        from importlib.metadata import version  # noqa: PLC0415 - slow to load

        print(f"tieline {version('tieline')}")
        raise SystemExit(0)


def seconds(text: str) -> float:
    """As `bridge.duration.seconds`, for an argument."""
    try:
        return duration.seconds(text)
    except Refused as refused:
        raise argparse.ArgumentTypeError(
            f"{refused.reason}: {refused.remedy[0].lower()}{refused.remedy[1:-1]}"
        ) from None


def build() -> argparse.ArgumentParser:
    parser = _Parser(prog="tieline", description="Lets one agent session hand work to another.", allow_abbrev=False)
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)

    def command(name: str, summary: str, *, speaks: bool = False) -> argparse.ArgumentParser:
        one: argparse.ArgumentParser = commands.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        one.add_argument("--json", action="store_true", help="one JSON object, or one a line")
        if speaks:
            one.add_argument(
                "--from",
                "--session",
                dest="session",
                metavar="S",
                help="the session to speak as (else TIELINE_SESSION, else your shell's)",
            )
        return one

    for name, summary in (("demo", "see it work, without any setup"), ("run", "run the bridge")):
        command(name, summary)

    backup = command("backup", "copy the store, whole, while the bridge runs or not")
    backup.add_argument("path", metavar="PATH", nargs="?", help="a new file, or a folder (else backups/ in the home)")
    command("doctor", "whether all is well, and what to do where it is not")

    status = command("status", "whether the bridge runs, and what waits in it")
    status.add_argument("--wait", type=seconds, default=0, metavar="S", help="wait so long until it accepts")

    sessions = command("sessions", "the sessions that you can reach", speaks=True)
    sessions.add_argument("--active", action="store_true", help="only those that are live")

    session = commands.add_parser("session", help="make, stop or resume a session", allow_abbrev=False)
    actions = session.add_subparsers(metavar="ACTION", dest="action", required=True)
    new = actions.add_parser("new", help="make a session", allow_abbrev=False)
    new.add_argument("--json", action="store_true", help="one JSON object")
    new.add_argument("handle", metavar="HANDLE", help="its name for ever: a-z, 0-9 and -")
    new.add_argument("--agent", metavar="A", help="the agent that runs it, as your settings name it")
    new.add_argument("--cwd", metavar="D", help="its working directory")
    new.add_argument("--place", metavar="P", help="where its people are, e.g. telegram:-1001234/42")
    new.add_argument("--title", metavar="T", help="its name for people")
    stop = actions.add_parser("stop", help="end its running turn, and let peers wait", allow_abbrev=False)
    resume = actions.add_parser("resume", help="let it take work again after a stop or a pause", allow_abbrev=False)
    for one in (stop, resume):
        one.add_argument("--json", action="store_true", help="one JSON object")
        one.add_argument("handle", metavar="HANDLE")
    stop.add_argument("--all", action="store_true", help="cancel what is queued, too")

    send = command("send", "send a message; it is delivered later if need be", speaks=True)
    _message(send)
    send.add_argument("--wake", action="store_true", help="start a turn if the recipient is idle")
    send.add_argument("--reply-to", metavar="ID", help="the message that this one goes on from")
    send.add_argument("--intent", choices=("request", "inform"), default="request", help="whether you expect an answer")
    send.add_argument("--ttl", type=seconds, metavar="T", help="how long it may wait, e.g. 1h")

    ask = command("ask", "ask and wait for the answer", speaks=True)
    _message(ask)
    ask.add_argument("--timeout", type=seconds, default=60, metavar="S", help="how long to wait (60); it stays open")

    cancel = command("cancel", "withdraw a question", speaks=True)
    cancel.add_argument("id", metavar="ID")

    inbox = command("inbox", "what waits to be read", speaks=True)
    inbox.add_argument("--follow", action="store_true", help="go on and show what arrives")
    inbox.add_argument("--take", action="store_true", help="take it, to be acknowledged with: tieline ack")

    ack = command("ack", "acknowledge what you have taken", speaks=True)
    ack.add_argument("ids", metavar="ID", nargs="+")

    trace = command("trace", "what happened to a message or in a conversation", speaks=True)
    trace.add_argument("id", metavar="ID")

    _oversight(commands)
    command("mcp", "the bridge's tools for an agent, over stdin and stdout")
    return parser


def _oversight(commands: "argparse._SubParsersAction[_Parser]") -> None:
    def action(name: str, summary: str, of: "argparse._SubParsersAction[_Parser]") -> _Parser:
        one = of.add_parser(name, help=summary, description=summary, allow_abbrev=False)
        one.add_argument("--json", action="store_true", help="one JSON object, or one a line")
        return one

    summary = "what waits for your approval, and your word on it"
    approvals = action("approvals", summary, commands)
    decisions = approvals.add_subparsers(metavar="ACTION", dest="action")
    for name, summary in (("approve", "let a held message go"), ("deny", "refuse a held message")):
        one = action(name, summary, decisions)
        one.add_argument("id", metavar="MESSAGE_ID")
        if name == "approve":
            one.add_argument(
                "--scope", choices=("once", "conversation", "pair"), default="once", help="how far it goes"
            )

    policy = commands.add_parser("policy", help="what agents may do, beside your file", allow_abbrev=False)
    actions = policy.add_subparsers(metavar="ACTION", dest="action", required=True)
    for name, summary in (("allow", "let a session reach another"), ("deny", "forbid it, whatever the file says")):
        one = action(name, summary, actions)
        one.add_argument("sender", metavar="FROM", help="a session; with --scope always a selector")
        one.add_argument("to", metavar="TO")
        one.add_argument("--verbs", default="discover,send,ask,wake", metavar="V,V", help="discover,send,ask,wake")
        one.add_argument("--scope", choices=("once", "conversation", "pair", "always"), default="pair")
        one.add_argument("--conversation", metavar="ID", help="with --scope conversation")
        one.add_argument("--for", dest="life", type=seconds, metavar="T", help="for how long, e.g. 8h")
    action("list", "the grants that hold", actions)
    action("revoke", "take a grant back", actions).add_argument("id", metavar="ID")
    action("pause", "stop all traffic between agents; what comes waits", actions)
    action("resume", "let it go on", actions)
    _looks(actions)

    audit = action("audit", "what was decided and done, by whom and by which rule", commands)
    audit.add_argument("--limit", type=int, default=50, metavar="N", help="how many of the newest (50)")


def _looks(actions: "argparse._SubParsersAction[_Parser]") -> None:
    """What reads rules from files; `simulate` asks a running bridge what it has decided."""
    check = actions.add_parser("check", help="find rules that never match or never decide", allow_abbrev=False)
    check.add_argument("--json", action="store_true", help="one JSON object a finding")
    check.add_argument("file", metavar="FILE", nargs="?", help="the settings (else tieline.toml in the home)")
    check.add_argument(
        "--with", dest="others", metavar="FILE", action="append", default=[], help="another profile's, for its sessions"
    )
    explain = actions.add_parser("explain", help="what the rules say, and what would change it", allow_abbrev=False)
    explain.add_argument("--json", action="store_true", help="one JSON object")
    explain.add_argument("sender", metavar="FROM", help="a session's id or handle")
    explain.add_argument("recipient", metavar="TO", help="a session's id or handle")
    explain.add_argument("verb", metavar="VERB", help="discover, send, ask, wake …")
    explain.add_argument("--file", metavar="F", help="the settings (else tieline.toml in the home)")
    simulate = actions.add_parser("simulate", help="what other rules would change of the last days", allow_abbrev=False)
    simulate.add_argument("--json", action="store_true", help="one JSON object")
    simulate.add_argument("file", metavar="RULES", help="the settings with the other rules")
    simulate.add_argument("--since", type=seconds, default=7 * 86_400, metavar="T", help="of how long (7d)")


def _message(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("to", metavar="TO", help="a session's id or handle")
    parser.add_argument("text", metavar="TEXT", nargs="?", help="the text; - or none reads stdin")
    parser.add_argument("--key", metavar="K", help="with the same key again, nothing is sent twice")
