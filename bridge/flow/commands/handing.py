"""Work that people hand to sessions, and what they answer to agents."""

from collections.abc import Sequence
from dataclasses import replace

from bridge.errors import Code, Refused
from bridge.flow.admission import Admission
from bridge.flow.asking import form_in
from bridge.flow.commands.command import Command, Group, Here, Picks, caller_as
from bridge.flow.directory import Directory
from bridge.flow.ledger import Ledger
from bridge.flow.questions import DECIDED, KEPT, Questions
from bridge.ids import scheme_of
from bridge.message import Attachment, Intent
from bridge.ports.chat import Heard
from bridge.views import Send


def files(attachments: Sequence[Attachment]) -> tuple[Attachment, ...]:
    """Without what is only quoted: who replies to the bridge, or hands on own words, quotes nobody."""
    return tuple(one for one in attachments if one.path is not None)


class Handing:
    def __init__(
        self, ledger: Ledger, here: Here, admission: Admission, directory: Directory, questions: Questions
    ) -> None:
        self._ledger = ledger
        self._here = here
        self._admission = admission
        self._directory = directory
        self._questions = questions

    @property
    def commands(self) -> Sequence[Command]:
        group = Group.WORK
        what = "hand work to a session"
        handing = Command(
            "handoff", "/handoff NAME TEXT", what, group, self._send, here=True, files=True, picks=Picks.ADDRESSEE
        )
        return (
            replace(handing, name="ask", usage="/ask NAME TEXT", help="ask a session; its answer comes back here"),
            handing,
            Command(
                "answer",
                "/answer TEXT",
                "answer what the agent here asks",
                group,
                self._answer,
                operators_only=True,
                here=True,
            ),
        )

    async def _send(self, heard: Heard, rest: str) -> str | None:
        """What becomes of it is shown by the handoff's own post."""
        session = await self._here.session(heard)
        if not rest:
            raise Refused(Code.INVALID_REQUEST, "it takes a session and a text", remedy="Like: /ask career TEXT")
        to, text = await self._directory.addressed(rest)
        attachments = heard.attachments
        if not text and heard.replied is not None:
            text, attachments = heard.replied.strip(), files(attachments)
        if not text and not attachments:
            raise Refused(Code.INVALID_REQUEST, f"it takes a text for {to.id} too", remedy="Like: /ask career TEXT")
        send = Send(to.id, text, Intent.REQUEST, wake=True, key=heard.key, attachments=attachments)
        try:
            await self._admission.send(caller_as(heard, session.id), send)
        except Refused as refused:
            if refused.code in (Code.INVALID_REQUEST, Code.TOO_LARGE, Code.UNAVAILABLE):
                raise
        return None

    async def fills_in(self, heard: Heard) -> bool:
        """Whether it replies to what an agent's form asks for: then it is for that form, and never input."""
        return await self._form(heard) is not None

    async def _answer(self, heard: Heard, rest: str) -> str:
        if not rest:
            raise Refused(Code.INVALID_REQUEST, "it takes a text", remedy="Like: /answer yes")
        said = await self._questions.answer(await self._form(heard) or self._questions.at(heard.place), rest)
        return said if said in (DECIDED, KEPT) else "The agent has your answer."

    async def _form(self, heard: Heard) -> str | None:
        if heard.reply_to is None:
            return None
        post = await self._ledger.store.sent_post(scheme_of(heard.place), heard.reply_to)
        return form_in(post.key) if post is not None and post.place == heard.place else None
