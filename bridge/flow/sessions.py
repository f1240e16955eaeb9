"""Sessions as people make them and let them take work again, from a shell (DESIGN §7)."""

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from hashlib import sha256
from typing import Any

from bridge.admission import closed_session
from bridge.approval import Subject
from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow.control import Control, holds_back, resume
from bridge.flow.directory import Directory
from bridge.flow.ledger import Ledger
from bridge.flow.naming import topic_name
from bridge.flow.proposals import Effects, Proposals
from bridge.flow.roster import Roster
from bridge.flow.tokens import Tokens
from bridge.flow.topics import Topics
from bridge.flow.work import Work
from bridge.ids import Place, SessionId
from bridge.launching import Creation, Options, options_from
from bridge.proposed import (
    session_entrusted,
    session_new,
    session_proposed,
    session_renewed,
    session_resumed,
    topic_wanted,
)
from bridge.session import NewSession
from bridge.token import Token, digest_of
from bridge.views import RenewedView, ResumedView, SessionView, TokenView, TopicView

_SHOWN_CHARS = 1_500
"""What an operator accepts stands whole in one post, whatever characters it has."""


class Sessions:
    """What a shell would make or resume may be an agent's wish, and is proposed where that takes an operator's word."""

    def __init__(
        self,
        ledger: Ledger,
        roster: Roster,
        control: Control,
        directory: Directory,
        proposals: Proposals,
        tokens: Tokens,
        topics: Topics,
    ) -> None:
        self._ledger = ledger
        self._roster = roster
        self._control = control
        self._directory = directory
        self._proposals = proposals
        self._tokens = tokens
        self._topics = topics
        proposals.register(Subject.SESSION, Effects(self._apply, check=self._check))

    async def make(self, caller: Caller, new: NewSession, key: str | None = None) -> SessionView:
        """Raises `Refused` as `Roster.check` does, whether it has to wait or not. With a key of the caller's the same
        again is the same session."""
        content: dict[str, Any] = {
            "id": new.id,
            "title": new.title,
            "agent": new.agent,
            "cwd": new.cwd,
            "place": new.place,
            "options": asdict(new.options),
        }
        if new.near is not None:
            content["near"] = new.near
        if key is not None:
            body = sha256(json.dumps(content).encode("utf-8", "replace")).hexdigest()
            new = replace(new, creation=Creation(caller.session, key, body))
            content["creation"] = [caller.session, key, body]
        waits = self._proposals.must_wait(caller)
        made = await self._ledger.do(lambda work: self._made(work, new, waits=waits or new.near is not None))
        if made is None and new.near is not None and not waits:
            await self._topics.make(new, new.near, topic_name(new.title))
            made = new.id
        if made is not None:
            return await self._directory.view(made)
        taken_from = await _session_at(self._ledger, new.place)
        about = session_new(new, taken_from)
        if len(about) > _SHOWN_CHARS:
            raise Refused(
                Code.INVALID_REQUEST,
                "it has more characters than an operator can be shown in one post",
                remedy="Choose a shorter directory or title, or declare the session in tieline.toml.",
            )
        await self._propose(
            caller, about, {**content, "taken_from": taken_from}, session_proposed(about, caller.session)
        )
        preview = self._directory.preview(new.made(self._ledger.clock.now()), [new.place] if new.place else [])
        return replace(preview, waits_for=self._proposals.asked_at())

    async def _made(self, work: Work, new: NewSession, *, waits: bool) -> SessionId | None:
        """The session, unless it has to wait. One that was made by the same key is there already."""
        made = await self._roster.made(work, new.creation)
        if made is not None or waits:
            return made
        await self._roster.make(work, new)
        return new.id

    async def renew(self, caller: Caller, session: SessionId) -> RenewedView:
        """As `/new` at a place of the session."""
        if not self._proposals.must_wait(caller):
            return RenewedView(await self._control.renew(session))
        about = session_renewed(session)
        await self._propose(caller, about, {"renew": session}, session_proposed(about, caller.session))
        return RenewedView(0, waits_for=self._proposals.asked_at())

    async def topic(self, caller: Caller, session: SessionId, chat: str | None) -> TopicView:
        """A topic for a session, beside its other places: in the chat that is named, or the only one with topics."""
        near = await self._topics.forum(chat)
        if not self._proposals.must_wait(caller):
            made = await self._topics.give(session, near)
            return TopicView(session, made, self._topics.link(made))
        about = topic_wanted(session, near)
        content = {"topic_for": session, "near": near}
        await self._propose(caller, about, content, session_proposed(about, caller.session))
        return TopicView(session, waits_for=self._proposals.asked_at())

    async def resume(self, caller: Caller, session: SessionId) -> ResumedView:
        if not self._proposals.must_wait(caller):
            return ResumedView(await self._control.resume(session))
        because = await self._ledger.do(lambda work: holds_back(work, session))
        if because is None:
            return ResumedView(resumed=False)
        about = session_resumed(session)
        text = session_proposed(about, caller.session, because)
        await self._propose(caller, about, {"resume": session}, text)
        return ResumedView(resumed=False, waits_for=self._proposals.asked_at())

    async def entrust(self, caller: Caller, session: SessionId, name: str) -> TokenView:
        """A new token for the session. Where it waits for an operator's word, it stands for nobody before. Raises
        `Refused` as `Tokens.check` does, whether it has to wait or not."""
        token = self._tokens.new()
        content = {"session": session, "name": name, "digest": digest_of(token)}
        if not self._proposals.must_wait(caller):
            return replace(_shown(await self._tokens.make(caller, content)), token=token)
        await self._ledger.do(lambda work: self._tokens.check(work, content))
        about = session_entrusted(session, name)
        await self._propose(caller, about, {"token": content}, session_proposed(about, caller.session))
        return TokenView(session, name, self._ledger.clock.now(), None, token, self._proposals.asked_at())

    async def tokens(self, session: SessionId) -> list[TokenView]:
        return [_shown(token) for token in await self._tokens.every(session)]

    async def distrust(self, caller: Caller, session: SessionId, name: str) -> TokenView:
        """Ends a token. That only takes something away, and waits for nobody."""
        return _shown(await self._tokens.revoke(caller, session, name))

    async def _propose(self, caller: Caller, about: str, content: Mapping[str, Any], text: str) -> None:
        life_s = self._ledger.limits.held_life_s
        await self._proposals.propose(caller, Subject.SESSION, about, content, text, life_s)

    async def _check(self, work: Work, content: Mapping[str, Any]) -> None:
        if "token" in content:
            await self._tokens.check(work, content["token"])
            return
        named = content.get("resume") or content.get("renew") or content.get("topic_for")
        if named is not None:
            session = await work.session(named)
            if session is None or session.closed_at is not None:
                raise closed_session(named)
            return
        new = _new(content)
        await self._roster.check(work, new)
        owner = await _session_at(work, new.place)
        if owner != content["taken_from"]:
            whose = f"{owner}'s" if owner else "nobody's"
            raise Refused(
                Code.INVALID_REQUEST,
                f"{new.place} is {whose} by now",
                remedy="Refuse this, and let it be asked for again.",
            )

    async def _apply(self, work: Work, by: Caller, content: Mapping[str, Any]) -> None:
        if "token" in content:
            await self._tokens.put(work, by, content["token"])
        elif "resume" in content:
            await resume(work, content["resume"])
        elif "renew" in content:
            work.then(lambda: self._control.begin_to_renew(content["renew"]))
        elif "topic_for" in content:
            work.then(lambda: self._topics.begin(content["topic_for"], content["near"]))
        else:
            new = _new(content)
            await self._roster.make(work, new)
            if (near := new.near) is not None:
                work.then(lambda: self._topics.begin(new.id, near))


def _shown(token: Token) -> TokenView:
    return TokenView(token.session, token.name, token.made_at, token.used_at)


def _new(content: Mapping[str, Any]) -> NewSession:
    return NewSession(
        content["id"],
        content["title"],
        content["agent"],
        content["cwd"],
        content["place"],
        # What was asked for before an upgrade says nothing of these.
        options_from(content["options"]) if "options" in content else Options(),
        Creation(*content["creation"]) if "creation" in content else None,
        content.get("near"),
    )


async def _session_at(means: Ledger | Work, place: Place | None) -> SessionId | None:
    binding = await means.store.binding(place) if place is not None else None
    return binding.session if binding is not None else None
