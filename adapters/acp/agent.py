"""One agent process with one context."""

import asyncio
import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import acp
from acp import schema
from pydantic import ValidationError

from adapters.acp.blocks import Takes, blocks_of, resource
from adapters.acp.child import Child
from adapters.acp.compression import compressed_to
from adapters.acp.elicitation import line, question_of
from adapters.acp.failures import classified, disguised, failure, of_error, without_secrets
from adapters.acp.files import Preloaded
from adapters.acp.frames import Frames
from adapters.acp.models import Choice
from adapters.acp.modes import Modes, cannot_be_set
from adapters.acp.presets import Quirks, Spoils
from adapters.acp.replay import Replay
from adapters.acp.run import Run
from adapters.acp.tail import Tail
from adapters.acp.usage import Spending
from bridge.history import History
from bridge.ports.clock import Clock
from bridge.ports.runtime import Context, Left, Listener, Prompt, Result
from bridge.question import Answer, Asked, Option, Question
from bridge.redaction import Redaction
from bridge.turn import Failure, FailureKind, Process

_INTERNAL_ERROR = -32603
_CANNOT_BE_RUN = (126, 127)
"""Exit codes by which shells, and `adopting`, say that a command may not be run or is not there."""
_LEAVE_S = 5.0
_LABEL_CHARS = 200
MOST_OPTIONS = 20
"""Of one permission question: the agent's further ones are not offered."""
_DENIED = schema.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))


class Client:
    """What the agent may ask of the bridge: permission, and what a person knows. No files, no terminals."""

    def __init__(self, redaction: Redaction) -> None:
        self.redaction = redaction
        self.run: Run | None = None
        self.session: str | None = None
        self.alias: str | None = None
        self.replay = Replay(redaction)
        self.modes = Modes()
        self.spending = Spending()
        self.choice: Choice | None = None
        self.quirks = Quirks()

    def answered(self, result: dict[str, Any]) -> None:
        """The agent's answer to a request, as it came."""
        self.choice = Choice.of(result) or self.choice

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        """What comes outside of prompts is the history, and is shown nowhere."""
        if session_id != self.session:
            return
        if update.session_update == "current_mode_update":
            self.modes.entered(update.current_mode_id)
        elif update.session_update == "usage_update":
            self.spending.told(update.cost)
        elif update.session_update == "config_option_update":
            self.spending.options(update.config_options)
        elif update.session_update == "session_info_update":
            if self.run is not None and (broken := self.quirks.breaks(update.field_meta)) is not None:
                self.run.broken = broken
            if self.run is not None and (alias := compressed_to(update.field_meta)) is not None:
                self.alias = alias
                self.run.compressed(alias)
        elif self.run is None:
            self.replay.hear(update)
        elif update.session_update != "user_message_chunk":
            self.run.hear(update)

    async def request_permission(
        self, session_id: str, tool_call: schema.ToolCallUpdate, options: list[schema.PermissionOption], **_: Any
    ) -> schema.RequestPermissionResponse:
        run = self.run
        if run is None or session_id != self.session:
            return _DENIED
        once = next((option.option_id for option in options if option.kind == "allow_once"), None)
        if once is not None and not run.refuses and self.quirks.admitted(tool_call.title, tool_call.kind):
            return schema.RequestPermissionResponse(outcome=schema.AllowedOutcome(outcome="selected", option_id=once))
        offered = [_option(option) for option in options[:MOST_OPTIONS]]
        title = line(run.hidden(tool_call.title), 1_000) or tool_call.kind or "a tool"
        answer = await run.ask(Question(title, offered))
        if run.refuses or answer.outcome is Asked.CANCELLED:
            return _DENIED
        choice = answer.choice
        if choice not in {option.id for option in offered}:
            refusals = sorted((option for option in offered if not option.allows), key=lambda option: option.lasting)
            if not refusals:
                return _DENIED
            choice = refusals[0].id
        selected = schema.AllowedOutcome(outcome="selected", option_id=choice)
        return schema.RequestPermissionResponse(outcome=selected)

    async def create_elicitation(
        self, message: str, mode: schema.ElicitationMode, **_: Any
    ) -> schema.CreateElicitationResponse:
        run = self.run
        if run is None or getattr(mode, "session_id", self.session) != self.session:
            return _told(Answer(Asked.CANCELLED, reason="no turn runs"))
        answer = await run.ask(question_of(run.hidden(message), mode))
        return _told(Answer(Asked.CANCELLED) if run.refuses else answer)

    async def complete_elicitation(self, elicitation_id: str, **_: Any) -> None:
        """Whoever followed the link says so: the agent cannot say it for them."""


def _told(answer: Answer) -> schema.CreateElicitationResponse:
    """Declined is what a person declined, or what nobody could be asked; cancelled, what came to no end."""
    if answer.values is not None:
        return schema.AcceptElicitationResponse(action="accept", content=dict(answer.values))
    meta = {"tieline": {"outcome": answer.outcome.value, "reason": answer.reason}}
    if answer.outcome in (Asked.ANSWERED, Asked.UNDELIVERED):
        return schema.DeclineElicitationResponse(action="decline", field_meta=meta)
    return schema.CancelElicitationResponse(action="cancel", field_meta=meta)


def _option(option: schema.PermissionOption) -> Option:
    return Option(
        option.option_id,
        line(option.name, _LABEL_CHARS) or option.kind,
        allows=option.kind.startswith("allow"),
        lasting=option.kind.endswith("always"),
    )


class Link:
    """The ACP connection to a child."""

    def __init__(self, child: Child, redaction: Redaction) -> None:
        self.client = Client(redaction)
        frames = Frames(child.write, child.hold, self.client.answered)
        child.listen(frames.feed, frames.end)
        self.acp = acp.connect_to_agent(cast(acp.Client, self.client), frames, use_unstable_protocol=True)


@dataclass(frozen=True, slots=True)
class Opening:
    """What comes before the first prompt of a context, which is the operator's own."""

    preamble: str | None = None
    files: tuple[Preloaded, ...] = ()

    @property
    def parts(self) -> Sequence[str]:
        return [*([self.preamble] if self.preamble else []), *(file.text for file in self.files)]

    def blocks(self) -> list[Any]:
        said = [schema.TextContentBlock(type="text", text=self.preamble)] if self.preamble else []
        return [*said, *(resource(Path(file.path).as_uri(), file.text) for file in self.files)]


class AcpAgent:
    """`bridge.ports.runtime.Agent` over ACP."""

    left: Sequence[Left] = ()

    def __init__(
        self,
        child: Child,
        link: Link,
        tail: Tail,
        alias: str,
        context: Context,
        *,
        seal: str,
        opening: Opening,
        takes: Takes,
        clock: Clock,
        stop_s: float,
        quirks: Quirks,
    ) -> None:
        self._takes = takes
        self._opening = opening
        self._child = child
        self._link = link
        self._tail = tail
        self._alias = alias
        self._context = context
        self.seal = seal
        self._clock = clock
        self._stop_s = stop_s
        self._quirks = quirks
        link.client.quirks = quirks
        link.client.spending.totals = quirks.totals
        self._run: Run | None = None
        self._spoilt = False
        self._prompted = False

    @property
    def process(self) -> Process:
        return self._child.process

    @property
    def alias(self) -> str:
        return self._link.client.alias or self._alias

    @property
    def context(self) -> Context:
        return self._context

    @property
    def history(self) -> History:
        return self._link.client.replay.history

    @property
    def opening(self) -> Sequence[str]:
        return self._opening.parts

    @property
    def alive(self) -> bool:
        return not self._spoilt and not self._child.exited.is_set()

    async def prompt(self, prompt: Prompt, listener: Listener) -> Result:
        """A stop for length (`max_tokens`, `max_turn_requests`) is a success that its stop reason tells of."""
        prompt.check()
        if self._run is not None:
            raise RuntimeError("a prompt is running already")
        run = self._run = self._link.client.run = Run(self._clock.now, self._tail.redaction, self._quirks.announces)
        spoilt = True
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(run.tell(listener))
                result = await self._result(run, prompt)
                run.answered.set()
                run.end()
            spoilt = False
            if result.failure is not None:
                result = replace(result, failure=without_secrets(result.failure, self._tail.redaction))
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        finally:
            run.end()
            run.answered.set()
            self._run = self._link.client.run = None
            self._spoilt = self._spoilt or spoilt
        return result

    async def cancel(self, grace_s: float) -> None:
        """A prompt that ends after a cancel counts as cancelled, whatever stop reason the agent gives."""
        run = self._run
        if run is None or run.answered.is_set():
            return
        risky = run.cancel()
        spoils = self._quirks.spoils
        self._spoilt = self._spoilt or spoils is Spoils.ALWAYS or (risky and spoils is Spoils.AMID)
        try:
            with contextlib.suppress(TimeoutError, ConnectionError):
                async with asyncio.timeout(grace_s):
                    await self._link.acp.cancel(session_id=self._alias)
                    await run.answered.wait()
        finally:
            if not run.answered.is_set():
                self._child.kill()
        await run.answered.wait()

    async def close(self) -> None:
        self._spoilt = True
        await self._child.stop(self._stop_s)
        await self._link.acp.close()

    async def leave(self) -> None:
        await self.close()

    async def rejoin(self, listener: Listener, after: int) -> Result | None:
        """It is never adopted, so there is nothing to go on with."""
        return None

    async def forget(self) -> None:
        """It keeps nothing."""

    async def _result(self, run: Run, prompt: Prompt) -> Result:
        try:
            blocks = [*self._opening.blocks(), *await self._blocks(prompt)]
            problem = await self._enter(prompt.mode)
            if run.cancelled or problem is not None:
                return Result("", "error", problem, cancelled=run.cancelled)
            self._link.client.replay.prompted([*self._opening.parts, *prompt.parts])
            self._spending.begin(fresh=self._context is not Context.RESUMED and not self._prompted)
            self._prompted = True
            response = await self._link.acp.prompt(session_id=self._alias, prompt=blocks, **_meta_of(prompt))
        except acp.RequestError as error:
            if run.cancelled:
                self._spoilt = self._spoilt or error.code == _INTERNAL_ERROR
                return Result(run.final, "cancelled", cancelled=True)
            problem = of_error(error.code, str(error), error.data, self._clock.now())
            problem = replace(problem, model=problem.model or self._spending.model)
            return Result(run.final, "error", problem)
        except ValidationError:
            problem = failure(FailureKind.CRASH, "The agent ended its turn with an answer that is no ACP.")
            return Result(run.final, "error", problem, cancelled=run.cancelled)
        except ConnectionError:
            if run.cancelled:
                return Result(run.final, "cancelled", cancelled=True)
            await self._child.gone()
            return Result(run.final, "error", death(self._child, self._tail, "in the middle of a turn"))
        self._opening = Opening()
        if prompt.mode is not None and not run.cancelled:
            await self._leave()
        cancelled = run.cancelled or response.stop_reason == "cancelled"
        told = None if cancelled else self._problem(response, run)
        usage = self._spending.usage(response)
        if self._quirks.puts_aside(run.final) and response.usage is None:
            self._spoilt = True
        return Result(run.final, response.stop_reason, told, cancelled=cancelled, usage=usage)

    async def _blocks(self, prompt: Prompt) -> list[Any]:
        if not prompt.attachments:
            return blocks_of(prompt, self._takes)
        return await asyncio.to_thread(blocks_of, prompt, self._takes)

    async def _enter(self, mode: str | None) -> Failure | None:
        """Sets the agent to the mode of a prompt, or back to its own; None where it is in it."""
        modes = self._link.client.modes
        target = modes.target(mode)
        if target is None or isinstance(target, Failure):
            return target
        try:
            modes.away = modes.away or mode is not None
            await self._link.acp.set_session_mode(session_id=self._alias, mode_id=target)
        except acp.RequestError as error:
            return cannot_be_set(target, error)
        modes.away = mode is not None
        return None

    async def _leave(self) -> None:
        """Back to the agent's own mode at once: some keep the mode with the context, beyond their process. Where it
        does not work, it is tried again before a prompt in that mode."""
        with contextlib.suppress(acp.RequestError, ConnectionError, ValidationError, TimeoutError):
            async with asyncio.timeout(_LEAVE_S):
                await self._enter(None)

    def _problem(self, response: schema.PromptResponse, run: Run) -> Failure | None:
        final = run.final
        if response.stop_reason == "refusal":
            return failure(FailureKind.REFUSAL, final or "The agent refused.")
        if run.broken:
            told = run.remark or "The agent's turn has failed."
            return classified(told, self._clock.now()) or failure(FailureKind.CRASH, told)
        if response.usage is not None:
            return None
        if self._quirks.puts_aside(final):
            return failure(FailureKind.CAPACITY, f"The agent is wedged and is started again: {final}")
        if kind := self._quirks.failed(final):
            known = classified(final, self._clock.now())
            return failure(kind, final, known.resets_at if known is not None else None)
        return disguised(final, self._clock.now())

    @property
    def _spending(self) -> Spending:
        return self._link.client.spending


def _meta_of(prompt: Prompt) -> dict[str, Any]:
    """Who is behind the prompt, for the agent's records: in the metadata of the request, where no model reads it."""
    return {"tieline": {"author": prompt.author, "origin": "peer"}} if prompt.author is not None else {}


def death(child: Child, tail: Tail, when: str) -> Failure:
    """The failure of a process that has ended by itself."""
    last = tail.text
    told = f" Its last words:\n{last[-400:]}" if last else ""
    code = child.returncode
    how = f"was ended by signal {-code}" if code is not None and code < 0 else f"ended with code {code}"
    kind = FailureKind.CONFIG if code in _CANNOT_BE_RUN else FailureKind.CRASH
    return failure(kind, f"The agent's process {how} {when}.{told}")
