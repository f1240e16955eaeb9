"""`tieline hook EVENT --agent A`: run by an agent's own hooks, with their JSON on stdin.

A hook never keeps its agent from its work: whatever goes wrong, it prints nothing and ends with 0, within `BOUND_S`.
"""

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from adapters.hooks.formats import EVENTS, FORMATS, Format, filled
from bridge.notices import ours

BOUND_S = 4.0
FAREWELL_S = 2.0
"""At its end an agent waits no longer for its hooks."""
_MOST = 1 << 20

Post = Callable[[str, dict[str, Any]], Mapping[str, Any]]
"""Asks the bridge. Raises whatever it likes where there is none, or where it refuses."""


Wait = Callable[[Format, str, str | None], int]
"""Waits for mail: for an agent of that format, its own session, and with a token where there is one."""


def hook(arguments: Sequence[str], posting: Callable[[str | None], Post], wait: Wait) -> int:
    """Returns the exit code, which is 0 but for a waiter of an agent that is woken by another."""
    event, agent = _told(arguments)
    form = FORMATS.get(agent)
    if form is None or (event not in EVENTS and event != "wait"):
        return 0
    if event == "wait":
        given = _given()
        token = given.get("token") if "--token" in arguments else None
        return wait(form, _thread(form, given), token)
    signal.signal(signal.SIGALRM, lambda *_: os._exit(0))
    signal.setitimer(signal.ITIMER_REAL, FAREWELL_S if event == "end" else BOUND_S)
    try:
        given = _given()
        if form.detached and "agent_id" in given:
            return 0  # A helper of the agent: what it is told is no person's word, and its end is not the agent's.
        post = posting(_thread(form, given) if form.detached else None)
        joining = {"client": agent, "cwd": os.getcwd()} if form.detached else {}
        told = post("/v1/terminal/events", {"event": _happened(event, given), **joining})
        if form.detached and event == "stop" and not told["notice"] and not told["ended"]:
            _begin_waiting(agent, _thread(form, given), post)
        if told["notice"] and event in form.answers:
            print(json.dumps(filled(form.answers[event], notice=told["notice"])), flush=True)
    except Exception:  # noqa: BLE001 - the boundary of a hook: its agent goes on as if there were none
        return 0
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return 0


def _told(arguments: Sequence[str]) -> tuple[str, str]:
    event = arguments[0] if arguments else ""
    agent = next((value for name, value in pairwise(arguments) if name == "--agent"), "")
    return event, agent


def _given() -> dict[str, Any]:
    """What the agent says of the event; nothing where that is more than is of use, as after a long result."""
    if sys.stdin is None or sys.stdin.isatty():
        return {}
    text = sys.stdin.buffer.read(_MOST)
    while sys.stdin.buffer.read(_MOST):
        text = b""
    try:
        given = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def _happened(event: str, given: Mapping[str, Any]) -> str:
    prompt = given.get("prompt")
    if event == "prompt" and isinstance(prompt, str) and ours(prompt):
        return "woken"
    if event == "end" and given.get("reason") == "clear":
        return "idle"  # The same terminal goes on with a fresh context.
    return "stop-again" if event == "stop" and given.get("stop_hook_active") is True else event


def _thread(form: Format, given: Mapping[str, Any]) -> str:
    thread = given.get(form.thread)
    return thread[:200] if isinstance(thread, str) else ""


def _begin_waiting(agent: str, thread: str, post: Post) -> None:
    """For an agent that waits for its hooks: the waiter outlives the one that starts it, and gets its word for whose
    it is by a pipe, since the kernel cannot tell any more."""
    import subprocess  # noqa: PLC0415 - few agents need it

    token = str(post("/v1/terminal/token", {})["token"])
    waiter = subprocess.Popen(
        [sys.executable, "-P", "-m", "adapters.main", "hook", "wait", "--agent", agent, "--token"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert waiter.stdin is not None
    waiter.stdin.write(json.dumps({"session_id": thread, "token": token}).encode())
    waiter.stdin.close()
