"""The last step: the bridge runs on the new home, and hands its first work on."""

import asyncio
from contextlib import suppress

from adapters.api.listener import SocketTaken
from adapters.compose import bridge
from adapters.onboarding.console import Ended
from adapters.onboarding.file import Office
from adapters.onboarding.first import TEXT, FirstHandoff
from adapters.onboarding.visit import Visit
from adapters.run import alone
from adapters.settings.model import Settings
from adapters.sqlite.lock import HomeLocked
from adapters.sqlite.migrate import NewerSchema
from adapters.telegram.place import SCHEME, person_id
from bridge.caller import Caller
from bridge.errors import Code, Refused
from bridge.flow.exchange import Exchange
from bridge.ids import Place, session_id
from bridge.message import Origin
from bridge.post import PostKind
from bridge.request import Answer
from bridge.trace import Step, StepKind
from bridge.views import FileState, Receipt, Send

_PATIENCE_S = 300.0
_SHOWN = 600
_SHOWING_S = 20.0
_LOOK_S = 0.1


async def first(visit: Visit, settings: Settings, office: Office) -> FirstHandoff:
    """Sends it as the operator would in the first topic, and waits for its answer there. The bridge ends with it.

    Raises `Refused` where no bridge can run."""
    try:
        return await _first(visit, settings, office)
    except Exception as error:
        match alone(error):
            case HomeLocked() | SocketTaken() | NewerSchema() as taken:
                raise Refused(Code.BUSY, str(taken), remedy="All is written; set that right: tieline run") from None
            case Refused() as refused:
                raise refused from None
            case _:
                raise


async def _first(visit: Visit, settings: Settings, office: Office) -> FirstHandoff:
    console = visit.console
    asker, asked = office.desks[:2]
    async with bridge(settings, visit.means.environ, alone=True) as exchange:
        # Before the poller is there, which then hands them on.
        await exchange.inbound.keep(SCHEME, visit.progress.left)
        visit.means.notebook.close()
        if exchange.charter.file is not FileState.HOLDS:
            return FirstHandoff(waits=True)
        caller = Caller(
            session_id(settings.profile, asker.handle),
            Origin.USER,
            place=Place(asker.place(office.ground)),
            person=person_id(office.operator.id),
            operator=True,
        )
        try:
            receipt = await exchange.send(caller, Send(to=asked.handle, text=TEXT, wake=True))
        except Refused as refused:
            console.say(f"It is not taken: {refused.reason}. {refused.remedy}")
            return FirstHandoff(answer=Answer.FAILED.value, text=refused.reason)
        what = f"{asked.topic.title} has it, and is to answer; Enter: do not wait for it"
        found = None
        with suppress(Ended):  # who is away by now learns of it in Telegram
            found = await console.waiting(what, _answered(exchange, caller, receipt, asked.place(office.ground)))
        return found or FirstHandoff(receipt.message_id, Answer.OPEN.value)


async def _answered(exchange: Exchange, caller: Caller, sent: Receipt, there: str) -> FirstHandoff:
    view = await exchange.answer(caller, sent.message_id, _PATIENCE_S)
    said = view.reply.text if view.reply is not None else view.reason or ""
    shown = view.reply is not None and await _shown(exchange, caller, sent, there)
    return FirstHandoff(sent.message_id, view.answer.value, said[:_SHOWN], shown)


async def _shown(exchange: Exchange, caller: Caller, sent: Receipt, there: str) -> bool:
    """Whether the answer is in the topic of the asker, and the work in the one `there`, for which it is waited a
    while."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_SHOWING_S):
            while True:
                steps = await exchange.trace(caller, sent.conversation_id)
                if any(_shows(one, caller.place, PostKind.FINAL) for one in steps) and any(
                    _shows(one, there) for one in steps
                ):
                    return True
                await asyncio.sleep(_LOOK_S)
    return False


def _shows(step: Step, place: str | None, kind: PostKind | None = None) -> bool:
    told = step.detail
    there = told.get("place") == place and kind in (None, told.get("post"))
    return step.step is StepKind.SENT and there and bool(told.get("receipt"))
