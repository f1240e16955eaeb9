"""The sessions of the settings, as the directory takes them."""

from collections.abc import Iterable

from adapters.settings.model import SessionSettings
from bridge.flow.directory import Declared
from bridge.ids import handle_of


def declared(sessions: Iterable[SessionSettings]) -> list[Declared]:
    return [
        Declared(
            handle=handle_of(session.id),
            title=session.title,
            kind=session.kind,
            agent=session.agent,
            cwd=session.cwd,
            project=session.project,
            tags=session.tags,
            accept_wake=session.accept_wake,
            busy=session.busy,
            inbox_limit=session.inbox_limit,
            max_chars=session.max_chars,
            reply_wake=session.reply_wake,
            peer_tools=session.peer_tools,
            peer_mode=session.peer_mode,
            hidden=session.hidden,
            quiet=session.quiet,
            timezone=session.timezone,
            places=session.places,
        )
        for session in sessions
    ]
