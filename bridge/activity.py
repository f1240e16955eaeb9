"""What a turn is doing and has done, as people are shown it: in Markdown, with nothing of an agent that could pass for
the bridge's own words."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from bridge.markdown import escaped
from bridge.phrases import counted, one_line
from bridge.ports.runtime import Event, Text, ToolBegun, ToolEnded
from bridge.trace import Step, StepKind

SHOWN = 12
"""So many tools are shown, the newest."""
_KEPT = 200
_TOOL_CHARS = 160
_RESULT_CHARS = 60
_SAID_CHARS = 300
_GROWING_CHARS = 3_500
_READING = ("peer_receive", "peer_sessions")
_RUNS, _DONE, _FAILED = "▸", "✓", "✗"


@dataclass(frozen=True, slots=True)
class Tool:
    """`ok` is None while it runs. Arguments and result are as they come from the runtime: without secrets."""

    id: str
    name: str
    title: str = ""
    arguments: str = ""
    result: str = ""
    ok: bool | None = None

    @property
    def line(self) -> str:
        name = self.name.rpartition("__")[2] or self.name
        about = self.title if self.title and self.title != self.name else self.arguments
        # What came by mail is shown as mail.
        result = "" if self.name.endswith(_READING) and self.ok else one_line(self.result, _RESULT_CHARS)
        shown = one_line(f"{name}: {about}" if about else name, _TOOL_CHARS)
        return f"{_mark(self.ok)} {shown}{f' → {result}' if result else ''}"


class Activity:
    """Gathers what a running turn tells of itself."""

    def __init__(self) -> None:
        self.tools = 0
        self.said = ""
        self._kept: dict[str, Tool] = {}

    def note(self, event: Event) -> bool:
        """Returns whether there is something new to be seen."""
        match event:
            case Text(text=text):
                self.said = (self.said + text)[-_GROWING_CHARS:]
            case ToolBegun():
                self.said = ""
                self._begin(Tool(event.id, event.name, event.title, event.arguments))
            case ToolEnded():
                begun = self._kept.get(event.id) or self._begin(Tool(event.id, event.name or event.id))
                self._kept[event.id] = replace(
                    begun,
                    name=event.name or begun.name,
                    title=event.title or begun.title,
                    arguments=event.arguments or begun.arguments,
                    result=event.result,
                    ok=event.ok,
                )
            case _:
                return False
        return True

    def recall(self, tools: Iterable[Tool]) -> None:
        """What an earlier bridge has heard of the same turn."""
        for tool in tools:
            self._begin(tool)

    def shown(self, elapsed_s: float, *, with_text: bool = True) -> str:
        lines = [f"Working · {elapsed(elapsed_s)}"]
        said = self.said.strip()
        if said and with_text:
            lines.append(escaped(said if len(said) <= _SAID_CHARS else f"…{said[1 - _SAID_CHARS :].lstrip()}"))
        return "\n".join([*lines, *folded([*self._kept.values()], self.tools)])

    def _begin(self, tool: Tool) -> Tool:
        self.tools += tool.id not in self._kept
        self._kept[tool.id] = tool
        if len(self._kept) > _KEPT:
            del self._kept[next(iter(self._kept))]
        return tool


def folded(tools: Sequence[Tool], count: int) -> list[str]:
    """The newest tools as a quote, which a chat folds where it is long."""
    shown = tools[-SHOWN:]
    earlier = count - len(shown)
    before = [f"> … {earlier} earlier"] if earlier > 0 else []
    return [*before, *(f"> {escaped(tool.line)}" for tool in shown)]


def traced(steps: Iterable[Step], since: float) -> list[Tool]:
    """The tools of a turn that began at `since`, as the trace of one of its inputs has them: by name and title only."""
    found: list[Tool] = []
    for step in steps:
        if step.step is not StepKind.TOOL or step.at < since:
            continue
        name, title, ok = str(step.detail.get("name", "")), str(step.detail.get("title", "")), step.detail.get("ok")
        if ok is None:
            found.append(Tool(step.id, name, title))
            continue
        # The newest of that name that has not ended; some agents tell the title late.
        at = next((at for at in reversed(range(len(found))) if found[at].ok is None and found[at].name == name), None)
        if at is None:
            found.append(Tool(step.id, name, title, ok=ok is True))
        else:
            found[at] = replace(found[at], title=title or found[at].title, ok=ok is True)
    return found


def ended(word: str, elapsed_s: float, tools: int) -> str:
    """All that is left of it to be seen once a turn is over."""
    used = f" · {counted(tools, 'tool')}" if tools else ""
    return f"{word} after {elapsed(elapsed_s)}{used}"


def elapsed(seconds: float) -> str:
    """1:05, or 1:00:05."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _mark(ok: bool | None) -> str:
    return _RUNS if ok is None else _DONE if ok else _FAILED
