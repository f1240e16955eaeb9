"""What a running bridge knows beside the file: grants, sessions made at run time, and what it has decided."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from time import time
from typing import Any

from adapters.cli.connection import Connection, quoted, socket_path
from bridge.decision import Effect, Party, Verb, Verdict
from bridge.errors import Code, Refused
from bridge.grant import Grant, GrantId, Scope
from bridge.ids import ConversationId, SessionId
from bridge.message import Origin
from bridge.session import Kind


class Running:
    """Every method raises `NoBridge`, `Dropped`, and `Refused` for whoever is no person."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        speaker = environ.get("TIELINE_SESSION") or None
        self._bridge = Connection(socket_path(environ), environ.get("TIELINE_TOKEN") or None, speaker)

    def grants(self) -> list[Grant]:
        """Those that hold."""
        return [_grant(one) for one in self._bridge.get("/v1/grants")["grants"]]

    def parties(self) -> dict[SessionId, Party]:
        """What was made at run time has no label but its kind and project."""
        found: dict[SessionId, Party] = {}
        cursor: str | None = ""
        while cursor is not None:
            page = self._bridge.get("/v1/sessions?limit=200" + (f"&cursor={quoted(cursor)}" if cursor else ""))
            for one in page["sessions"]:
                found[SessionId(one["id"])] = Party(SessionId(one["id"]), Kind(one["kind"]), one["project"])
            cursor = page["next_cursor"]
        return found

    def decision(self, sender: SessionId, recipient: SessionId, verb: Verb) -> dict[str, Any] | None:
        """What it says now of these two. None where it does not know one of them."""
        asked = f"from={quoted(sender)}&to={quoted(recipient)}&verb={verb}"
        try:
            return self._bridge.get(f"/v1/decision?{asked}")
        except Refused as refused:
            if refused.code is Code.INVALID_REQUEST:
                return None
            raise

    def decided(self, since_s: float) -> Iterator[Verdict]:
        """Of the last seconds, the newest first."""
        begin, before = time() - since_s, ""
        while True:
            page = self._bridge.get("/v1/audit?limit=200" + (f"&before={quoted(before)}" if before else ""))
            for record in page["records"]:
                if _time(record["at"]) < begin:
                    return
                if record["what"] == "decision":
                    yield _verdict(record)
            if page["next_before"] is None:
                return
            before = page["next_before"]


def _grant(one: Mapping[str, Any]) -> Grant:
    return Grant(
        id=GrantId(one["id"]),
        sender=one["from"],
        recipient=one["to"],
        verbs=tuple(map(Verb, one["verbs"])),
        effect=Effect(one["effect"]),
        scope=Scope(one["scope"]),
        by=one["by"],
        via=one["via"],
        given_at=_time(one["given_at"]),
        expires_at=_time(one["expires_at"]) if one["expires_at"] is not None else None,
        conversation=ConversationId(one["conversation_id"]) if one["conversation_id"] is not None else None,
    )


def _verdict(record: Mapping[str, Any]) -> Verdict:
    detail = record["detail"]
    return Verdict(
        id=record["id"],
        at=_time(record["at"]),
        sender=SessionId(detail["from"]),
        recipient=detail["to"],
        origin=Origin(record["origin"]),
        verbs=tuple(detail["verbs"]),
        effect=Effect(detail["effect"]),
        rule=detail["rule"],
        reason=detail["reason"],
        code=Code(detail["code"]) if "code" in detail else None,
    )


def _time(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
