"""What people are shown of a turn is short, in order, and can be nothing but what it is."""

import pytest

from bridge.activity import SHOWN, Activity, elapsed, ended, traced
from bridge.ids import ConversationId, MessageId, SessionId
from bridge.markdown import unescaped
from bridge.ports.runtime import Text, Thought, ToolBegun, ToolEnded
from bridge.trace import Step, StepKind


def shown(*events: object, with_text: bool = True) -> list[str]:
    activity = Activity()
    for event in events:
        activity.note(event)  # type: ignore[arg-type]
    return unescaped(activity.shown(65, with_text=with_text)).splitlines()


@pytest.mark.parametrize(
    ("seconds", "told"), [(0, "0:00"), (3, "0:03"), (65, "1:05"), (3_605, "1:00:05"), (-4, "0:00"), (59.6, "1:00")]
)
def test_time_is_told_as_on_a_clock(seconds: float, told: str) -> None:
    assert elapsed(seconds) == told


def test_tools_are_quoted_with_what_they_did_and_those_that_failed_are_marked() -> None:
    assert shown(
        Text("I look."),
        ToolBegun("1", "Bash", reading=False, title="git status"),
        ToolEnded("1", ok=True, result="clean"),
        ToolBegun("2", "Edit", reading=False, arguments='{"path": "a.py"}'),
        ToolEnded("2", ok=False, result="no such file"),
        ToolBegun("3", "mcp__tieline__peer_send", reading=False),
    ) == [
        "Working · 1:05",
        "> ✓ Bash: git status → clean",
        '> ✗ Edit: {"path": "a.py"} → no such file',
        "> ▸ peer_send",
    ]


def test_mail_that_was_read_is_not_shown_as_a_result() -> None:
    name = "mcp__tieline__peer_receive"
    assert shown(ToolBegun("1", name, reading=True), ToolEnded("1", ok=True, result="a secret plan"))[1:] == [
        "> ✓ peer_receive"
    ]


def test_the_newest_words_are_shown_and_begin_anew_with_each_tool() -> None:
    assert shown(Text("old"), ToolBegun("1", "Bash", reading=False), Thought("hm"), Text("new"))[1] == "new"
    (_, said) = shown(Text("a " * 1_000 + "end"))
    assert said.startswith("…")
    assert said.endswith("end")
    assert len(said) <= 300
    assert shown(Text("grows elsewhere"), with_text=False) == ["Working · 1:05"]


def test_however_many_and_long_the_tools_are_the_message_stays_short() -> None:
    many = [ToolBegun(str(number), "x" * 200, reading=False, title="y" * 300) for number in range(500)]
    lines = shown(*many)
    assert lines[1] == f"> … {500 - SHOWN} earlier"
    assert len(lines) == 2 + SHOWN
    assert len("\n".join(lines)) < 4_000


def test_an_end_without_its_beginning_is_a_tool_too() -> None:
    assert shown(ToolEnded("7", ok=False))[1:] == ["> ✗ 7"]


@pytest.mark.parametrize("text", ["\nDone after 0:01", "> quoted", "**bold** `code`", "line\n\n# Working · 9:99"])
def test_no_words_of_an_agent_pass_for_the_bridges_own(text: str) -> None:
    activity = Activity()
    activity.note(ToolBegun("1", "Bash", reading=False, title=text))
    activity.note(Text(text))
    lines = activity.shown(1).splitlines()
    assert lines[0] == "Working · 0:01"
    assert len(lines) == 3
    assert lines[2].startswith("> ▸ Bash")
    assert not any(sign in f"{lines[1]}{lines[2][2:]}" for sign in "*`>\n")


def test_the_trace_tells_the_tools_of_one_turn_by_name() -> None:
    def step(at: float, **detail: object) -> Step:
        where = SessionId("default/career"), MessageId("m"), ConversationId("c")
        return Step(f"s{at}", at, StepKind.TOOL, *where, detail=detail)

    tools = traced(
        [
            step(1, name="Earlier"),
            step(11, name="Bash"),
            step(12, name="Edit", title="a.py"),
            step(13, name="Bash", title="ls", ok=True),
            step(14, name="Edit", ok=False),
            step(15, name="Late", ok=True),
            step(16, name="Bash"),
        ],
        since=10,
    )
    assert [tool.line for tool in tools] == ["✓ Bash: ls", "✗ Edit: a.py", "✓ Late", "▸ Bash"]


def test_one_line_is_left_at_the_end() -> None:
    assert ended("Done", 65, 12) == "Done after 1:05 · 12 tools"
    assert ended("Stopped", 3, 1) == "Stopped after 0:03 · 1 tool"
    assert ended("Done", 3, 0) == "Done after 0:03"
