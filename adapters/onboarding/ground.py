"""The third step: the chat that holds the topics, and what the bot must be allowed there."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from adapters.onboarding.hearing import GROUPS, OWN, PRIVATE, Event, Moved, Room, Said, Seated, Somebody, title_of
from adapters.onboarding.progress import Ground
from adapters.onboarding.visit import Bot, Visit
from adapters.telegram.asking import Unanswered, Why

_LOOK_S = 5.0
_RIGHTS = "manage_topics+delete_messages"


@dataclass(frozen=True, slots=True)
class Lack:
    """What is still missing, and what to press. Without the bot there is no more to look at."""

    text: str
    gone: bool = False


async def captured(visit: Visit, operator: Somebody) -> Ground:
    """The chat in which topics can be made."""
    while True:
        ground = await _known(visit, operator) or await _chosen(visit, operator)
        if (fit := await _made_fit(visit, ground)) is not None:
            visit.note(replace(visit.progress, ground=fit))
            visit.console.say(f"✓ Topics can be made in {_called(fit)}.")
            return fit
        visit.note(replace(visit.progress, ground=None, topics=()))


async def _known(visit: Visit, operator: Somebody) -> Ground | None:
    ground = visit.progress.ground
    if ground is None or (ground.private and ground.id != operator.id):
        return None
    try:
        chat = await visit.sure("getChat", chat_id=ground.id)
    except Unanswered as error:
        if error.why is not Why.MIGRATED:
            return None
        ground = replace(ground, id=error.chat)
        chat = await visit.sure("getChat", chat_id=ground.id)
    ground = Ground(ground.id, title_of(chat))
    return ground if await visit.console.yes(f"Go on with {_called(ground)}?", default=True) else None


async def _chosen(visit: Visit, operator: Somebody) -> Ground:
    console, bot = visit.console, visit.bot
    if bot.private_topics:
        where = ["in a group", f"in your private chat with {bot}, which has topics, too"]
        if await console.choice("Where are your topics to be?", where, default=0) == 1:
            return Ground(operator.id, operator.name)
    if not bot.joins_groups:
        console.say(f"{bot} may not be added to groups: @BotFather, /setjoingroups, {bot}, Enable.")
    link = f"https://t.me/{bot.username}?startgroup=tieline&admin={_RIGHTS}"
    here = f"/here@{bot.username}"
    console.say("Make a group in Telegram, or take one of yours, and switch on Topics: the group's name, Edit, Topics.")
    console.say(f"Then add the bot to it, as an administrator, by this link:\n  {link}")
    console.say(f"Is it in the group already? Then write {here} in the group.")
    declined: set[int] = set()
    found = visit.ear.seats_by(operator)

    def pick(event: Event) -> Room | None:
        match event:
            case Seated(person, room, True) if person.id == operator.id and room.kind in GROUPS:
                return room if room.id not in declined else None
            case Said(person, room, text) if person.id == operator.id and text.split()[0] in OWN:
                return room if room.kind in GROUPS or text == "/here" else None
        return None

    waiting = "waiting for the group; Enter: tell it again"
    while True:
        room = found.pop() if found else await visit.hear(waiting, pick)
        if room is None:
            console.say(f"Add {bot} by {link}")
            console.say(f"or write {here} in the group, and not as an anonymous administrator: only your word counts.")
        elif room.kind == PRIVATE and not bot.private_topics:
            console.say("That was your private chat, which has no topics: write it in the group.")
        elif room.kind == PRIVATE:
            return Ground(operator.id, operator.name)
        elif await console.yes(f"Take the group “{room.title}”?", default=True):
            return Ground(room.id, room.title)
        else:
            declined.add(room.id)


async def _made_fit(visit: Visit, ground: Ground) -> Ground | None:
    """Waits until topics can be made there. None where the bot has left the group."""
    if ground.private:
        return ground
    told = ""
    while True:
        ground, lack = await _looked_at(visit, ground)
        if lack is None:
            return ground
        if lack.text != told:
            visit.console.say(lack.text)
            told = lack.text
        if lack.gone:
            return None
        here = ground.id

        def of_it(event: Event, here: int = here) -> bool | None:
            return True if isinstance(event, Seated | Moved) and _chat(event) == here else None

        await visit.hear("waiting until that is done; Enter: look again", of_it, within_s=_LOOK_S)


def _chat(event: Seated | Moved) -> int:
    return event.room.id if isinstance(event, Seated) else event.room


async def _looked_at(visit: Visit, ground: Ground) -> tuple[Ground, Lack | None]:
    try:
        chat = await visit.sure("getChat", chat_id=ground.id)
        member = await visit.sure("getChatMember", chat_id=ground.id, user_id=visit.bot.id)
    except Unanswered as error:
        if error.why is Why.MIGRATED:
            return await _looked_at(visit, replace(ground, id=error.chat))
        return ground, Lack(f"{visit.bot} is not in {_called(ground)} any more ({error.reason}).", gone=True)
    ground = Ground(ground.id, title_of(chat))
    return ground, _lack(visit.bot, ground, chat, member)


def _lack(bot: Bot, ground: Ground, chat: Mapping[str, Any], member: Mapping[str, Any]) -> Lack | None:
    """The first thing that is not right there."""
    status = member.get("status")
    if status in ("left", "kicked"):
        return Lack(f"{bot} is not in {_called(ground)} any more.", gone=True)
    if not chat.get("is_forum"):
        return Lack(f"{_called(ground)} has no topics. Press the group's name, Edit, Topics, and switch them on.")
    press = "Press the group's name, Edit, Administrators"
    if status != "administrator":
        how = f"{press}, Add Administrator, {bot}, and leave Manage Topics on."
        return Lack(f"{bot} is no administrator of {_called(ground)}. {how}{'' if bot.reads_all else _deaf(bot)}")
    if not member.get("can_manage_topics"):
        return Lack(f"{bot} may not make topics. {press}, {bot}, and switch on Manage Topics.")
    return None


def _deaf(bot: Bot) -> str:
    """An administrator hears everything, whatever its privacy mode."""
    how = f"@BotFather, /setprivacy, {bot}, Disable, then remove it from the group and add it again"
    return f" Until then it hears nothing there but commands, for privacy mode is on (to switch that off: {how})."


def _called(ground: Ground) -> str:
    return "your private chat" if ground.private else f"the group “{ground.title}”"
