"""What an agent is prompted with (DESIGN §5, How peer text reaches an agent)."""

from dataclasses import replace

from bridge import briefing, phrases
from bridge.ids import SessionId
from bridge.message import Message, Origin
from bridge.ports.runtime import Prompt


def prompt_of(inputs: list[Message], *, embeds: bool, peer_mode: str | None = None) -> Prompt:
    """A person's words are prompt text; mail of peers is announced by a fixed notice, or embedded as data. What a peer
    caused runs in `peer_mode`."""
    by_peer = not all(one.from_person for one in inputs)
    return replace(_prompt(inputs, embeds), mode=peer_mode if by_peer else None, author=_author(inputs))


def _author(inputs: list[Message]) -> SessionId | None:
    """The session whose mail alone is behind it: none of a person's words, nor the bridge's own notices."""
    senders = {one.sender if one.origin is Origin.PEER else None for one in inputs}
    return senders.pop() if len(senders) == 1 else None


def _prompt(inputs: list[Message], embeds: bool) -> Prompt:
    again = any(one.redelivered for one in inputs)
    if inputs and all(one.from_person for one in inputs):
        attached = tuple(one for message in inputs for one in message.attachments)
        notices = [briefing.CONTINUATION_NOTICE] if again else []
        return Prompt(
            words="\n\n".join(one.text for one in inputs if one.text.strip()) or None,
            notice="\n".join([*notices, *([briefing.attached(attached)] if attached else [])]) or None,
            attachments=attached,
        )
    mail = [one for one in inputs if not one.from_person]
    if embeds:
        embedded = [phrases.with_attachments(one.text, one.attachments) for one in mail]
        return Prompt(notice=_continued(briefing.EMBEDDED_NOTICE, again), embedded=embedded)
    if any(one.unread for one in mail):
        return Prompt(notice=briefing.MAIL_NOTICE_AGAIN)
    notice = briefing.MAIL_NOTICE if len(mail) == 1 else briefing.MAIL_NOTICE_SEVERAL
    return Prompt(notice=_continued(notice, any(one.attempts for one in mail)))


def _continued(notice: str, again: bool) -> str:
    return f"{briefing.CONTINUATION_NOTICE}\n{notice}" if again else notice
