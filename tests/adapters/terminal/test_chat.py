"""A terminal shows each thing once, and which topic it belongs to."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

import pytest

from adapters.terminal.chat import TerminalChat
from bridge.ids import Place, PostId
from bridge.ports.chat import Happening, Heard, NotDelivered, Overtakes, Pressed
from bridge.post import Button, Post, PostKind
from tests.fakes.clock import ManualClock

FROM = "→ career: A recruiter of Initech offers me a job. Is it serious?"


class Intake:
    """What the chat hands in."""

    def __init__(self) -> None:
        self.heard: list[Heard] = []
        self.pressed: list[Pressed] = []

    async def last(self, source: str) -> int | None:
        return None

    async def keep(self, source: str, updates: Sequence[tuple[int, str]]) -> Set[int]:
        return set()

    async def overtakes(self, heard: Heard) -> Overtakes:
        return Overtakes.NOTHING

    async def outrank(self, heard: Heard) -> None: ...

    async def unhandled(self, source: str) -> list[tuple[int, str]]:
        return []

    async def done(self, source: str, number: int, error: str | None = None) -> None:
        pass

    async def happened(self, happening: Happening) -> None:
        pass

    async def recall(self, source: str) -> Mapping[str, str]:
        return {}

    async def remember(self, source: str, key: str, text: str) -> None:
        pass

    async def sent(self, scheme: str, receipt: str) -> Place | None:
        return None

    async def hear(self, heard: Heard) -> None:
        self.heard.append(heard)

    def names(self, place: Place) -> Sequence[Place]:
        return [place]

    async def bound(self, place: Place) -> bool:
        return True

    async def known(self, place: Place) -> bool:
        return True

    async def edit(self, heard: Heard) -> None:
        pass

    async def press(self, pressed: Pressed) -> str:
        self.pressed.append(pressed)
        return "24 more messages."


def post(text: str, *, key: str = "k", buttons: tuple[Button, ...] = (), receipt: str | None = None) -> Post:
    place, kind = Place("cli:desk"), PostKind.HANDOFF if "\n· " in text else PostKind.NOTICE
    return Post(PostId(key), key, place, kind, text, 0, 0, buttons=buttons, receipt=receipt)


async def shown(*posts: Post, columns: int | None = None, colours: bool = False) -> list[str]:
    lines: list[str] = []
    chat = TerminalChat(ManualClock(), lines.append, columns=columns, colours=colours)
    for one in posts:
        await chat.deliver(one)
    return lines


async def test_a_status_stands_behind_its_handoff() -> None:
    assert await shown(post(f"{FROM}\n· woken")) == [f"[  0.00s]        desk │ {FROM} · woken"]


async def test_a_revision_repeats_only_as_much_as_tells_what_it_revises() -> None:
    [line] = await shown(post(f"{FROM}\n· answered", receipt="1"))
    assert line.endswith("│ → career: A recruiter of Initech offers me… · answered")
    [line] = await shown(post("→ pong: ping\n· answered", receipt="1"))
    assert line.endswith("│ → pong: ping · answered")


async def test_a_list_in_an_agents_text_stays_a_list() -> None:
    final = replace(post("Two:\n· Initech\n· Hooli"), kind=PostKind.FINAL)
    assert [line.rpartition("│ ")[2] for line in await shown(final)] == ["Two:", "· Initech", "· Hooli"]
    progress = replace(post("working for 6 s\ntool: a · b", receipt="1"), kind=PostKind.PROGRESS)
    assert [line.rpartition("│ ")[2] for line in await shown(progress)] == ["working for 6 s", "tool: a · b"]


async def test_what_is_wider_than_the_screen_is_folded_beside_the_margin() -> None:
    lines = await shown(post("one two three four five six seven eight"), columns=50)
    assert lines == ["[  0.00s]        desk │ one two three four five", f"{'':21} │ six seven eight"]


async def test_text_of_others_cannot_act_on_the_terminal() -> None:
    [line] = await shown(post("\x1b[2Jgone\u202e\tend"), colours=False)
    assert line.endswith("│ \\x1b[2Jgone\\x202e   end")


async def test_colours_tell_topics_apart_and_only_if_they_are_wanted() -> None:
    other = replace(post("b"), place=Place("cli:other"))
    first, second = await shown(post("a"), other, colours=True)
    assert first.partition("desk")[0].split("m")[-2] != second.partition("other")[0].split("m")[-2]
    assert "\x1b" not in "".join(await shown(post("a"), other))


async def test_a_button_is_pressed_by_the_beginning_of_its_label() -> None:
    lines: list[str] = []
    chat, intake = TerminalChat(ManualClock(), lines.append), Intake()
    buttons = (Button("Go on (+24)", "more:c1"), Button("Stop", "stop:c1"))
    await chat.deliver(post("Stopped", buttons=buttons))
    assert lines[-1].endswith("│ [Go on (+24)] [Stop]")
    assert not await chat.press(intake, "other", "go on")
    assert await chat.press(intake, "desk", "go on")
    assert [one.action for one in intake.pressed] == ["more:c1"]
    assert lines[-1].endswith("│ 24 more messages.")
    await chat.deliver(post("It goes on", receipt="1"))
    assert not await chat.press(intake, "desk", "go on")


async def test_a_terminal_has_no_topics_to_make() -> None:
    chat = TerminalChat(ManualClock(), lambda line: None)
    assert await chat.forums() == ()
    assert chat.topic_link(Place("cli:desk")) is None
    for refused in (
        chat.open_topic(Place("cli:desk"), "Taxes"),
        chat.rename_topic(Place("cli:desk"), "Taxes"),
        chat.close_topic(Place("cli:desk")),
        chat.reopen_topic(Place("cli:desk")),
        chat.delete_topic(Place("cli:desk")),
    ):
        with pytest.raises(NotDelivered, match="this chat has no topics"):
            await refused
