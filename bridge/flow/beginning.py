"""The beginning of a turn: its inputs leased with it, and what a later bridge must know stored before its agent is at
work (DESIGN §5)."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from bridge import briefing, wording
from bridge.flow.prompting import prompt_of
from bridge.flow.settlement import show_status
from bridge.flow.showing import show
from bridge.flow.work import Work
from bridge.history import digest
from bridge.message import Intent, Message
from bridge.ports.runtime import Agent, Context, Prompt
from bridge.post import PostKind
from bridge.session import Session
from bridge.trace import StepKind
from bridge.turn import Turn, TurnState


async def start_turn(work: Work, session: Session, turn: Turn, inputs: Sequence[Message]) -> None:
    """Leases the inputs to a new turn, in one change with the turn itself."""
    work.put(turn)
    work.put(replace(session, last_seen=work.now))
    for message in inputs:
        leased = replace(message.to_leased(turn.id), woken_at=message.woken_at or work.now)
        work.put(leased)
        work.step(StepKind.LEASED, leased, epoch=leased.epoch)
        if message.woken_at is None:
            work.step(StepKind.WOKEN, leased, turn=turn.id, agent=session.answers)
        if message.intent is not Intent.INPUT:
            await show_status(work, leased, wording.WOKEN if message.woken_at is None else "woken again")


async def prompted(work: Work, turn: Turn, agent: Agent, *, embeds: Callable[[Session], bool]) -> Prompt | None:
    """Stores what a later bridge must know before the agent is at work: its process, and that it was prompted.
    None where the turn is over already."""
    current = await work.held(turn.id, turn.epoch)
    session = await work.session(turn.session)
    inputs = [message for one in turn.inputs if (message := await work.message(one)) is not None]
    if current is None or session is None:
        return None
    if agent.context is Context.LOST and session.alias != agent.alias:
        await show(work, f"lost:{turn.id}", turn.place, PostKind.NOTICE, wording.CONTEXT_LOST, session=session.id)
    if session.alias != agent.alias:
        work.put(replace(session, alias=agent.alias))
    embedded = embeds(session)
    prompt = prompt_of(inputs, embeds=embedded, peer_mode=session.habits.peer_mode)
    if agent.left:
        running = briefing.left_running(agent.left)
        prompt = replace(prompt, notice="\n".join(filter(None, (running, prompt.notice))))
        # People are told once, however often the agent is started beside the same processes.
        same = digest([f"{one.process.pid} {one.process.birth}" for one in agent.left])
        await show(work, f"left:{session.id}:{same}", turn.place, PostKind.NOTICE, running, session=session.id)
    if current.state is TurnState.RUNNING:  # stored by an attempt whose success was not heard of
        return prompt
    sent = digest([*agent.opening, *prompt.parts])
    for message in inputs:
        if message.from_person or embedded:
            work.put(replace(message, read_at=work.now))
            work.step(StepKind.READ, message)
        if message.intent is not Intent.INPUT:
            await show_status(work, message, wording.WORKING)
    work.put(
        replace(
            current.moved(TurnState.RUNNING),
            process=agent.process,
            prompt_sent=True,
            prompt=sent,
            occurrence=agent.history.prompts.count(sent) + 1,
            peer_read=current.peer_read or (embedded and not all(one.from_person for one in inputs)),
        )
    )
    return prompt


async def announced_before(work: Work, turn: Turn) -> bool:
    """Whether an earlier turn over the same input ended without its being read."""
    inputs = [await work.message(one) for one in turn.inputs]
    return any(message.unread for message in inputs if message is not None)
