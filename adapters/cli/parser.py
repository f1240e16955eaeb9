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


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no number from 1 on")
    return int(text)


_HANDING_WORK = "discover,send,ask,wake"


def build() -> argparse.ArgumentParser:
    parser = _Parser(prog="tieline", description="Lets one agent session hand work to another.", allow_abbrev=False)
    parser.add_argument("--version", action=_Version, nargs=0, help="show the version")
    commands = parser.add_subparsers(metavar="COMMAND", dest="command", required=True)

    def command(name: str, summary: str, *, speaks: bool = False) -> _Parser:
        one = _action(name, summary, commands)
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

    init = command("init", "set it up with a Telegram bot of yours, step by step")
    init.add_argument("--token-file", metavar="PATH", help="a file with the bot's token, and nothing else")
    init.add_argument(
        "--base-url", metavar="URL", help="of a Bot API server of your own, up to where the token follows"
    )
    backup = command("backup", "copy the store, whole, while the bridge runs or not")
    backup.add_argument("path", metavar="PATH", nargs="?", help="a new file, or a folder (else backups/ in the home)")
    doctor = command("doctor", "whether all is well, and what to do where it is not")
    doctor.add_argument("--agents", action="store_true", help="start each agent that is there, and tell what it can do")

    status = command("status", "whether the bridge runs, and what waits in it")
    status.add_argument("--wait", type=seconds, default=0, metavar="S", help="wait so long until it accepts")

    sessions = command("sessions", "the sessions that you can reach", speaks=True)
    sessions.add_argument("--active", action="store_true", help="only those that are live")
    sessions.add_argument("--all", action="store_true", help="those labelled oneshot, tool or cron, too")

    _sessions(commands)

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
    _gateways(commands)
    hook = _group("hook", "let the agents in your own terminals hear of mail", commands)
    actions = hook.add_subparsers(metavar="ACTION", dest="action", required=True)
    for name, summary in (
        ("install", "add the tools and hooks to an agent of yours, beside what it has"),
        ("remove", "take them out again, without a trace"),
    ):
        _action(name, summary, actions).add_argument(
            "agent", metavar="AGENT", help="claude-code, codex, gemini, opencode or hermes"
        )
    _action("status", "for which agents they are installed", actions)
    mcp = command("mcp", "the bridge's tools for an agent, over stdin and stdout")
    mcp.add_argument("--agent", metavar="A", help="what the agent is called; else as it calls itself")
    return parser


def _sessions(commands: "argparse._SubParsersAction[_Parser]") -> None:
    session = _group("session", "make, stop, resume or renew a session, and topics and tokens for it", commands)
    actions = session.add_subparsers(metavar="ACTION", dest="action", required=True)
    new = _action("new", "make a session", actions)
    new.add_argument("handle", metavar="HANDLE", help="its name for ever: a-z, 0-9 and -")
    new.add_argument("--agent", metavar="A", help="the agent that runs it, as your settings name it")
    new.add_argument("--cwd", metavar="D", help="its working directory")
    new.add_argument("--place", metavar="P", help="where its people are, e.g. telegram:-1001234/42")
    new.add_argument(
        "--topic",
        metavar="CHAT",
        nargs="?",
        const="",
        help="make a topic for it, in that chat or the only one with topics",
    )
    new.add_argument("--title", metavar="T", help="its name for people")
    new.add_argument("--key", metavar="K", help="with the same key again, it is the same session")
    _options(new)
    stop = _action("stop", "end its running turn, and let peers wait", actions)
    resume = _action("resume", "let it take work again after a stop or a pause", actions)
    renew = _action("renew", "give it a fresh context, and the settings of now", actions)
    for one in (stop, resume, renew):
        one.add_argument("handle", metavar="HANDLE", help="its handle or id")
    topic = _action("topic", "make a topic for it", actions)
    topic.add_argument("handle", metavar="HANDLE", help="its handle or id")
    topic.add_argument("chat", metavar="CHAT", nargs="?", help="e.g. -1001234; else the only chat with topics")
    token = _action("token", "make a token for a client of your own, which is then this session", actions)
    tokens = _action("tokens", "the tokens that hold, and when each was last used", actions)
    revoke = _action("revoke", "end a token, and what is open by it", actions)
    for one in (token, tokens, revoke):
        one.add_argument("handle", metavar="HANDLE", help="the handle or id of a session without an agent")
    token.add_argument("--name", metavar="N", default="client", help="to tell it from others (client)")
    revoke.add_argument("name", metavar="NAME", help="as tieline session tokens lists it")
    stop.add_argument("--all", action="store_true", help="cancel what is queued, too")


def _server(text: str) -> tuple[str, list[str]]:
    import shlex  # noqa: PLC0415 - few commands name a server

    name, given, command = text.partition("=")
    try:
        words = shlex.split(command)
    except ValueError:
        words = []
    if not given or not words:
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is no server: write name=command")
    return name, words


def _options(new: argparse.ArgumentParser) -> None:
    """What the agent of a new session is started with."""
    new.add_argument("--model", metavar="M", help="the model, as its agent calls it")
    new.add_argument("--mode", metavar="M", help="the mode, as its agent calls it")
    new.add_argument("--preamble", metavar="TEXT", help="what its agent is told first; - reads stdin")
    new.add_argument(
        "--server",
        dest="servers",
        metavar="NAME=COMMAND",
        type=_server,
        action="append",
        default=[],
        help="an MCP server for its agent (may be repeated)",
    )
    new.add_argument(
        "--file",
        dest="files",
        metavar="PATH",
        action="append",
        default=[],
        help="a file within its directory that its agent is given first (may be repeated)",
    )
    new.add_argument("--hooks", action="store_true", help="let the hooks that you have set up for its agent run")
    new.add_argument("--safe", action="store_true", help="nothing of your own configuration")
    new.add_argument("--label", metavar="L", help="what made it; oneshot, tool and cron are hidden from lists")
    new.add_argument(
        "--fallback",
        metavar="A",
        action="append",
        default=[],
        help="an agent that answers while its own is at a limit (may be repeated)",
    )


def _group(name: str, summary: str, of: "argparse._SubParsersAction[_Parser]") -> _Parser:
    return of.add_parser(name, help=summary, description=summary, allow_abbrev=False)


def _action(name: str, summary: str, of: "argparse._SubParsersAction[_Parser]") -> _Parser:
    one = _group(name, summary, of)
    one.add_argument("--json", action="store_true", help="one JSON object, or one a line")
    return one


def _oversight(commands: "argparse._SubParsersAction[_Parser]") -> None:
    approvals = _action("approvals", "what waits for your approval, and your word on it", commands)
    decisions = approvals.add_subparsers(metavar="ACTION", dest="action", help="without one, what waits is listed")
    for name, summary in (("approve", "let a held message go"), ("deny", "refuse a held message")):
        one = _action(name, summary, decisions)
        one.add_argument("id", metavar="MESSAGE_ID", help="as tieline approvals lists it")
        if name == "approve":
            one.add_argument(
                "--scope", choices=("once", "conversation", "pair"), default="once", help="how far it goes"
            )

    policy = _group("policy", "what agents may do: your rules, and what you grant beside them", commands)
    actions = policy.add_subparsers(metavar="ACTION", dest="action", required=True)
    for name, summary in (
        ("allow", "let a session reach another, where no rule denies it"),
        ("deny", "forbid it, whatever the file says"),
    ):
        one = _action(name, summary, actions)
        one.add_argument("sender", metavar="FROM", help="a session; with --scope always a selector, as in a rule")
        one.add_argument("to", metavar="TO", help="the same")
        one.add_argument("--verbs", default=_HANDING_WORK, metavar="V,V", help=f"which ({_HANDING_WORK})")
        scopes = ("once", "conversation", "pair", "always")
        one.add_argument("--scope", choices=scopes, default="pair", help="how far it goes (pair)")
        one.add_argument("--conversation", metavar="ID", help="with --scope conversation")
        one.add_argument("--for", dest="life", type=seconds, metavar="T", help="for how long, e.g. 8h")
    _action("list", "the grants that hold", actions)
    _action("revoke", "take a grant back", actions).add_argument(
        "id", metavar="ID", help="as tieline policy list has it, or the end of it"
    )
    _action("pause", "stop all traffic between agents; what comes waits", actions)
    _action("resume", "let the traffic between agents go on", actions)
    _looks(actions)

    audit = _action("audit", "what was decided and done, by whom and by which rule", commands)
    audit.add_argument("--limit", type=_count, default=50, metavar="N", help="how many of the newest (50)")


def _gateways(commands: "argparse._SubParsersAction[_Parser]") -> None:
    gateway = _group("gateway", "programs with a bot and sessions of their own, such as Hermes' gateway", commands)
    actions = gateway.add_subparsers(metavar="ACTION", dest="action", required=True)
    _action("list", "the gateways that are paired", actions)
    for name, summary in (
        ("pair", "let one link itself with the bridge, and show its token this once"),
        ("remove", "cut its link, and close its sessions"),
    ):
        _action(name, summary, actions).add_argument("name", metavar="NAME", help="its name: a-z and 0-9, e.g. hermes")
    check = _action("check", "drive a gateway through the link's protocol, and say what it does wrong", actions)
    check.add_argument("words", metavar="COMMAND", nargs=argparse.REMAINDER, help="the gateway, see gateway-link.md")


def _looks(actions: "argparse._SubParsersAction[_Parser]") -> None:
    """What reads rules from files; `simulate` asks a running bridge what it has decided."""
    check = _action("check", "find rules that never match or never decide; exits with 78 for what is wrong", actions)
    check.add_argument("file", metavar="FILE", nargs="?", help="the settings (else tieline.toml in the home)")
    check.add_argument(
        "--with", dest="others", metavar="FILE", action="append", default=[], help="another profile's, for its sessions"
    )
    explain = _action("explain", "what the rules and grants say of two sessions, and what would change it", actions)
    explain.add_argument("sender", metavar="FROM", help="a session's id or handle")
    explain.add_argument("recipient", metavar="TO", help="a session's id or handle; agent:NAME for a child of FROM")
    explain.add_argument("verb", metavar="VERB", nargs="?", help="discover, send, ask, wake … (else a line for each)")
    explain.add_argument("--file", metavar="F", help="the settings (else tieline.toml in the home)")
    simulate = _action("simulate", "what other rules would have changed of what was decided lately", actions)
    simulate.add_argument("file", metavar="RULES", help="the settings with the other rules")
    simulate.add_argument("--since", type=seconds, default=7 * 86_400, metavar="T", help="how far back, e.g. 24h (7d)")


def _message(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("to", metavar="TO", help="a session's id or handle")
    parser.add_argument("text", metavar="TEXT", nargs="?", help="the text; - or none reads stdin")
    parser.add_argument("--key", metavar="K", help="with the same key again, nothing is sent twice")
