"""Mentions: a text of a person that begins with `@career` or `@session:default/career` is a handoff to that session.

Only the beginning counts: further on a name is talked about, and whether anything is handed on is up to the agent that
reads it. What agents write mentions nobody.
"""

import re
from dataclasses import replace

from bridge.errors import Code, Refused
from bridge.flow.directory import Directory
from bridge.flow.ledger import Ledger
from bridge.ids import handle_of
from bridge.ports.chat import Heard
from bridge.session import Session

_EXACT = "@session:"
_FIRST = re.compile(r"@(\S+?)[:,]?(?=\s|\Z)")


class Mentions:
    def __init__(self, ledger: Ledger, directory: Directory) -> None:
        self._ledger = ledger
        self._directory = directory

    async def handoff(self, heard: Heard) -> Heard | None:
        """The command that is meant. None where the text is for the session here: it begins with no name of another
        session (people write `@` for many reasons), it was forwarded, so that somebody else had mentioned it, or
        nobody is here who could hand anything on.

        Raises `invalid_request` for a title that several sessions have, or where no text follows, and
        `unknown_session` for `@session:…` of one that is not there: nobody else was meant.
        """
        text = heard.text.strip()
        name = _FIRST.match(text)
        if name is None or heard.passed_on:
            return None
        binding = await self._ledger.store.binding(heard.place)
        here = await self._ledger.store.session(binding.session) if binding and binding.session else None
        if here is None or here.closed_at is not None:
            return None
        # A name may be set off: `@career: look at this`.
        found = await self._mentioned(text, f"@{name[1]}{text[name.end() :]}")
        if found is None or found[0].id == here.id:
            return None
        session, rest = found
        if not rest and not heard.attachments:
            raise Refused(
                Code.INVALID_REQUEST,
                f"it takes a text for {session.id} too",
                remedy=f"Like: @{handle_of(session.id)} TEXT",
            )
        return replace(heard, text=f"/handoff {session.id} {rest}".rstrip())

    async def _mentioned(self, *forms: str) -> tuple[Session, str] | None:
        for form in dict.fromkeys(forms):
            try:
                return await self._directory.addressed(form)
            except Refused as refused:
                if refused.code is not Code.UNKNOWN_SESSION:
                    raise
                unknown = refused
        if forms[0].startswith(_EXACT):
            raise unknown
        return None
