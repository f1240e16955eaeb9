"""Of a long answer the beginning is shown, and the rest when somebody asks for it: nothing of it is lost."""

from bridge.ports.chat import Person, Pressed
from bridge.ports.runtime import Prompt
from bridge.post import Post, PostState
from tests.fakes.runtime import FakeAgent
from tests.flow.stage import Stage, room, session, stage

CAREER = room("career")
GUEST = Person("room:7", "Grace", operator=False)
LONG = "".join(f"{number:>99}\n" for number in range(160))  # four parts of this chat
HUGE = LONG * 2


async def answered(on: Stage, text: str) -> None:
    async def career(agent: FakeAgent, prompt: Prompt) -> str:
        return text

    on.agent("career", career)
    await on.says("career", "write it all down")
    await on.quiet()


def shown(on: Stage) -> list[Post]:
    return [post for post in on.chat.posts.values() if post.place == CAREER]


async def press(on: Stage, label: str, person: Person | None = None) -> str:
    (action,) = {b.action for post in shown(on) for b in post.buttons if b.label.startswith(label)}
    return await on.exchange.inbound.press(Pressed(CAREER, person or Person("room:1", "Ada", operator=True), action))
