"""The second step: who may decide. The person at the terminal is known in Telegram by a one-time code."""

from dataclasses import replace

from adapters.onboarding.hearing import PRIVATE, Event, Said, Somebody, title_of
from adapters.onboarding.pairing import LIFE_S, Pairing, Tried
from adapters.onboarding.visit import Visit
from adapters.telegram.asking import Unanswered

_WELCOME = "You are Tieline's operator now. The terminal tells what comes next."


async def paired(visit: Visit) -> Somebody:
    """The operator, whom the person at the terminal has confirmed."""
    known = await _known(visit)
    if known is not None and await visit.console.yes(f"{known} was the operator. Is that still you?"):
        return known
    operator = await _confirmed(visit)
    visit.note(replace(visit.progress, operator=operator))
    await _welcome(visit, operator)
    visit.console.say(f"✓ {operator} is the operator.")
    return operator


async def _known(visit: Visit) -> Somebody | None:
    """Who was confirmed before, with the name of now."""
    operator = visit.progress.operator
    if operator is None:
        return None
    try:
        chat = await visit.sure("getChat", chat_id=operator.id)
    except Unanswered:
        return None
    return Somebody(operator.id, title_of(chat) if isinstance(chat, dict) else operator.name)


async def _confirmed(visit: Visit) -> Somebody:
    console, pairing = visit.console, Pairing(visit.means.clock, visit.means.randomness)

    def show(why: str) -> None:
        console.say(f"{why}Send this code to {visit.bot}, in your private chat with it:  {pairing.code}")
        console.say(f"or open https://t.me/{visit.bot.username}?start={pairing.code} and press Start.")

    def pick(event: Event) -> Somebody | None:
        if not isinstance(event, Said) or event.room.kind != PRIVATE or event.room.id != event.person.id:
            return None  # in a group, others could read it
        match pairing.tried(event.text):
            case Tried.RIGHT:
                return event.person
            case Tried.WRONG:
                console.say("A wrong code came.")
            case Tried.SPENT:
                show("Too many wrong codes came: that one holds no longer. ")
        return None

    show("")
    console.say(f"It holds for {LIFE_S // 60} minutes. Who sends it may approve, stop and decide from then on.")
    while True:
        sender = await visit.hear("waiting for the code; Enter: a new one", pick, within_s=max(0.0, pairing.left_s))
        if sender is None:
            over = pairing.left_s <= 0
            pairing.renew()
            show("That code is over. " if over else "")
        elif await console.yes(f"{sender} has sent the code. Is that you?"):
            return sender
        else:
            pairing.renew()
            show("Then somebody else knows that code, and it holds no longer. ")


async def _welcome(visit: Visit, operator: Somebody) -> None:
    try:
        await visit.sure("sendMessage", chat_id=operator.id, text=_WELCOME)
    except Unanswered as error:
        visit.console.say(f"{visit.bot} cannot write to you: {error.reason}. Open the chat with it, and press Start.")
