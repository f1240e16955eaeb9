"""A person's stop, and a question how it stands, do not wait for what others have said before (invariant 10)."""

from time import monotonic

from tests.acceptance.home import Home
from tests.fakes.bot_api import BotApi

CHAT, FRONT, CAREER = -1001, 42, 43
WAITING = 500
WITHIN_S = 1.0


async def test_stop_and_status_are_there_within_a_second_while_500_messages_wait(home: Home, api: BotApi) -> None:
    api.forum(CHAT, topics={FRONT: "Front Desk", CAREER: "Career"})
    home.telegram(api, chats=[CHAT])
    home.worker("front-desk", places=[f"telegram:{CHAT}/{FRONT}"])
    home.worker("career", places=[f"telegram:{CHAT}/{CAREER}"])
    home.limits(stop_grace_s=0.3)
    home.paced = True
    await home.up()

    async def took(command: str, says: str, thread: int) -> float:
        before, began = len(api.history), monotonic()
        api.say(command, chat=CHAT, thread=thread, user=111)
        await api.until(lambda: any(says in sent.text and sent.thread == thread for sent in api.history[before:]), 20)
        return monotonic() - began

    # What it takes on this machine where nothing waits; the first answer pays for what is loaded late.
    await took("/status", "front-desk", FRONT)
    idle = await took("/status", "front-desk", FRONT)

    api.say("do: hang", chat=CHAT, thread=CAREER, user=111)
    await api.until(lambda: any(call.fields.get("message_thread_id") == str(CAREER) for call in api.requests), 20)
    for number in range(WAITING):
        api.say(f"and then {number}", chat=CHAT, thread=CAREER, user=111)
    await api.acknowledged(api.updates.pending[-1]["update_id"], 20)
    stopped = await took("/stop", "stopped", CAREER)
    status = await took("/status", "career", CAREER)
    assert stopped < max(WITHIN_S, 5 * idle)
    assert status < max(WITHIN_S, 5 * idle)
