"""What agents may do, as operators say it at a place."""

from collections.abc import Sequence

from bridge import wording
from bridge.decision import Effect
from bridge.duration import seconds
from bridge.errors import Code, Refused
from bridge.flow.charter import Charter
from bridge.flow.commands.command import Command, Group, Here, Picks, caller_as, word
from bridge.flow.directory import Directory
from bridge.flow.ledger import Ledger
from bridge.flow.oversight import Oversight
from bridge.grant import HANDING_WORK, Scope
from bridge.ports.chat import Heard
from bridge.proposed import RESUMING
from bridge.standing import standing


class Governing:
    def __init__(
        self, ledger: Ledger, here: Here, directory: Directory, oversight: Oversight, charter: Charter
    ) -> None:
        self._ledger = ledger
        self._here = here
        self._directory = directory
        self._oversight = oversight
        self._charter = charter

    @property
    def commands(self) -> Sequence[Command]:
        group = Group.AGENTS
        return (
            Command(
                "allow",
                "/allow NAME [for 8h]",
                "let a session hand work to the one here",
                group,
                self._allow,
                operators_only=True,
                here=True,
                picks=Picks.SESSION,
            ),
            Command(
                "deny",
                "/deny NAME [for 8h]",
                "forbid a session to reach the one here",
                group,
                self._deny,
                operators_only=True,
                here=True,
                picks=Picks.SESSION,
            ),
            Command(
                "policy",
                "/policy [revoke ID | pause | resume]",
                "what the session here may do, and others to it; pause: no agent reaches another",
                group,
                self._policy,
                operators_only=True,
            ),
        )

    async def _allow(self, heard: Heard, rest: str) -> str:
        return await self._grant(heard, rest, Effect.ALLOW)

    async def _deny(self, heard: Heard, rest: str) -> str:
        return await self._grant(heard, rest, Effect.DENY)

    async def _grant(self, heard: Heard, rest: str, effect: Effect) -> str:
        """Of another session to the one here; to have it the other way round, say it there."""
        here = await self._here.session(heard)
        name, _, time = rest.partition(" for ")
        if not name.strip():
            raise Refused(
                Code.INVALID_REQUEST, "it takes a session", remedy=f"Like: /{effect} career, or /{effect} career for 8h"
            )
        other = await self._directory.find(name)
        life_s = seconds(time) if time else None
        view = await self._oversight.grant(
            caller_as(heard, here.id), other.id, here.id, HANDING_WORK, Scope.PAIR, effect=effect, life_s=life_s
        )
        return wording.grant_given(view)

    async def _policy(self, heard: Heard, rest: str) -> str:
        what, ident = word(rest)
        match what:
            case "":
                return await self._policy_here(heard)
            case "revoke" if not ident:
                raise Refused(Code.INVALID_REQUEST, "it takes the id of a grant", remedy="/policy lists them.")
            case "revoke":
                view = await self._oversight.revoke(await self._here.caller(heard), ident)
                return f"Revoked: {wording.grant_line(view)}"
            case "pause":
                await self._oversight.pause(await self._here.caller(heard))
                return "No agent reaches another until /policy resume. What comes waits."
            case "resume":
                await self._oversight.resume(await self._here.caller(heard))
                return f"{RESUMING.capitalize()}."
            case _:
                raise Refused(Code.INVALID_REQUEST, f"there is no /policy {what[:40]}", remedy="See /help.")

    async def _policy_here(self, heard: Heard) -> str:
        here = await self._here.session(heard)
        caller = caller_as(heard, here.id)
        grants = [
            one
            for one in await self._oversight.grants(caller)
            if here.id in (one.sender, one.recipient) or one.scope is Scope.ALWAYS
        ]
        return standing(
            here.title,
            await self._oversight.permissions(caller, here),
            grants,
            paused_by=await self._ledger.paused_by(),
            file=self._charter.file,
        )
