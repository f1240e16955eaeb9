"""The exchange: the core put together, from its start to its end."""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from types import TracebackType
from typing import Self

from bridge.flow.admission import Admission
from bridge.flow.agents import Agents
from bridge.flow.approvals import Approvals
from bridge.flow.buttons import Buttons
from bridge.flow.calls import Calls
from bridge.flow.charter import Charter
from bridge.flow.children import Children
from bridge.flow.choices import Choices
from bridge.flow.commands.command import Here
from bridge.flow.commands.deleting import Deleting
from bridge.flow.commands.governing import Governing
from bridge.flow.commands.handing import Handing
from bridge.flow.commands.looking import Looking
from bridge.flow.commands.places import Places
from bridge.flow.commands.queue import Queue
from bridge.flow.commands.run import Commands
from bridge.flow.commands.session import OfTheSession
from bridge.flow.commands.topics import OfTopics
from bridge.flow.control import Control
from bridge.flow.current import Current
from bridge.flow.directory import Directory
from bridge.flow.dispatch import Dispatch
from bridge.flow.ending import Ending
from bridge.flow.errands import Errands
from bridge.flow.gateways import Gateways
from bridge.flow.governance import Governance
from bridge.flow.grants import Grants
from bridge.flow.hints import Hints
from bridge.flow.hosts import Gone
from bridge.flow.inbound import Inbound
from bridge.flow.insight import Insight, Running
from bridge.flow.ledger import Ledger
from bridge.flow.mailbox import Mailbox
from bridge.flow.mentions import Mentions
from bridge.flow.naming import Naming
from bridge.flow.outbox import Outbox
from bridge.flow.oversight import Oversight
from bridge.flow.people import People
from bridge.flow.permissions import Permissions
from bridge.flow.picking import Picking
from bridge.flow.proposals import Proposals
from bridge.flow.questions import Questions
from bridge.flow.recovery import Recovery
from bridge.flow.redeclaring import redeclare
from bridge.flow.reply import Replies
from bridge.flow.retention import Retention
from bridge.flow.retirement import Retirement, retire_left
from bridge.flow.roster import Roster
from bridge.flow.sessions import Sessions
from bridge.flow.shortage import Shortage
from bridge.flow.speakers import Speakers
from bridge.flow.steering import Steering
from bridge.flow.switch import Switch
from bridge.flow.terminals import Terminals, never
from bridge.flow.timekeeper import Timekeeper
from bridge.flow.tokens import Tokens
from bridge.flow.topics import Topics
from bridge.flow.turns import Turns
from bridge.flow.unheard import Unheard
from bridge.flow.waits import Waits
from bridge.flow.whereabouts import Whereabouts
from bridge.ids import NodeId
from bridge.limits import Limits
from bridge.ports.chat import Chat
from bridge.ports.clock import Clock, Randomness
from bridge.ports.files import Files
from bridge.ports.policy import Policy
from bridge.ports.runtime import Runtime
from bridge.ports.store import Store
from bridge.session import Declared

LOCAL = NodeId("local")
"""The only bridge of a store that takes no other."""


class Exchange(Calls):
    """Use it as an asynchronous context: `start`, `begin`, and at the end `drain`. Leaving it cuts off what
    still runs, which the next start recovers, and closes the agents.

    `node` is the name under which this bridge holds leases, the same after a restart, and of one bridge at a time.
    `tools` is the environment of the agents' tool server, beside the token of each. `health` is what the
    status shows of the chat, or None where none is configured. With `confirm_in_chat`, what a shell would widen waits
    for an operator's word in a chat. `present` tells of an agent that the runtime knows whether it can take work now,
    and `gone` tells when the process of an agent in a person's terminal has ended. `files` are what people have sent.
    """

    def __init__(
        self,
        *,
        profile: str,
        version: str,
        pid: int,
        store: Store,
        store_name: str,
        policy: Policy,
        runtime: Runtime,
        chats: Mapping[str, Chat],
        clock: Clock,
        randomness: Randomness,
        limits: Limits,
        tools: Mapping[str, str],
        node: NodeId = LOCAL,
        health: Callable[[], Mapping[str, object] | None] = lambda: None,
        confirm_in_chat: bool = True,
        present: Callable[[str], bool] = lambda agent: True,
        gone: Gone = never,
        files: Files | None = None,
    ) -> None:
        self._files = files
        self._chats = dict(chats)
        self._delivering = False
        self._hints = Hints()
        self._tasks = asyncio.TaskGroup()
        self._background: list[asyncio.Task[None]] = []
        ledger = Ledger(store, clock, randomness, self._hints, limits, self._chats, node)
        waits, unheard, questions = Waits(), Unheard(), Questions(ledger)
        proposals = Proposals(ledger, confirm=confirm_in_chat)
        agents = Agents(ledger, runtime, self._tasks, tools, present)
        self._tokens = Tokens(ledger, self._tasks)
        current = Current(agents)
        terminals = Terminals(ledger, self._hints, agents, self._tasks, profile, gone)
        self._turns = Turns(ledger, agents, questions, unheard)
        self._recovery = Recovery(ledger, agents, self._turns)
        self._dispatch = Dispatch(ledger, self._turns, self._recovery, self._tasks)
        self._timekeeper = Timekeeper(ledger, self._recovery, proposals)
        self._errands = Errands(self._tasks)
        self._naming = Naming(ledger, self._errands)
        self._whereabouts = Whereabouts(ledger, self._naming.look)
        self._people = People(ledger, self._errands)
        self._outbox = Outbox(ledger, self._hints, self._whereabouts)
        governance = Governance(ledger, policy)
        admission = Admission(ledger, governance, self._dispatch)
        directory = Directory(ledger, governance, agents, current, profile, terminals)
        roster = Roster(ledger, agents, current, profile)
        control = Control(ledger, self._turns, self._recovery, agents, current, self._tasks)
        topics = Topics(ledger, roster, self._errands)
        self._ending = ending = Ending(ledger, self._hints, self._turns, control, agents, self._errands)
        self._retirement = Retirement(self._turns, control, agents, self._tasks)
        steering = Steering(ledger, agents)
        approvals = Approvals(ledger, governance, self._dispatch, profile)
        permissions = Permissions(ledger, governance)
        self.oversight: Oversight = Oversight(
            ledger, approvals, Grants(ledger), proposals, directory, permissions, Switch(ledger, proposals)
        )
        self.charter = Charter(ledger, governance, proposals)
        here = Here(ledger, profile)
        handing = Handing(ledger, here, admission, directory, questions)
        of_session = OfTheSession(ledger, here, control, directory)
        of_topics = OfTopics(ledger, here, topics, roster, agents, self._naming, ending, of_session.fresh)
        choices = Choices(directory, here)
        queue = Queue(ledger, here, control)
        deleting = Deleting(ledger, ending)
        self.gateways = Gateways(ledger, current, self._dispatch, control, proposals, unheard, profile)
        running = Running(pid, version, store_name, clock.now(), health)
        insight = Insight(ledger, directory, self._turns, self.charter, self.gateways, running)
        commands = Commands(
            ledger,
            here,
            choices,
            [
                *handing.commands,
                *of_session.commands,
                *of_topics.commands,
                *deleting.commands,
                *queue.commands,
                *Looking(ledger, here, directory, insight).commands,
                *Places(directory, roster).commands,
                *Governing(ledger, here, directory, self.oversight, self.charter).commands,
            ],
        )
        self.menu = commands.menu
        picking = Picking(ledger, choices, commands, here, agents)
        self.inbound = Inbound(
            ledger,
            self._dispatch,
            commands,
            handing,
            Mentions(ledger, directory),
            picking,
            Buttons(ledger, control, questions, approvals, proposals, picking, queue, deleting),
            self._whereabouts,
            self._people,
        )
        super().__init__(
            ledger=ledger,
            directory=directory,
            roster=roster,
            topics=topics,
            sessions=Sessions(ledger, roster, control, directory, proposals, self._tokens, topics),
            speakers=Speakers(ledger, self._turns, profile),
            admission=admission,
            children=Children(ledger, admission, agents),
            replies=Replies(ledger, admission, waits, self._hints),
            mailbox=Mailbox(ledger, self._hints, unheard, steering),
            steering=steering,
            control=control,
            agents=agents,
            tokens=self._tokens,
            terminals=terminals,
            insight=insight,
            hints=self._hints,
        )

    async def start(self, declared: Sequence[Declared]) -> None:
        """Recovers what an earlier bridge left, and brings the sessions to what the file says."""
        await self._whereabouts.load()
        await self._people.load()
        await retire_left(self._ledger)
        await self._recovery.restart()
        await self.terminals.restore()
        await self.redeclare(declared)
        await self._tokens.load()

    async def begin(self) -> None:
        """Begins to deliver. Agents call back at once, so whatever serves their tools must accept by then."""
        self._hints.attach(self._dispatch.hint, self._timekeeper.at, self._retirement.begin, self._tokens.forget)
        self._dispatch.open()
        self._background.append(self._tasks.create_task(self._timekeeper.run()))
        for task in (Retention(self._ledger, self._files), Shortage(self._ledger)):
            self._background.append(self._tasks.create_task(task.run()))
        self._delivering = True
        for chat in self._chats.values():
            self._background.append(self._tasks.create_task(self._outbox.run(chat)))
        for session in (*self._recovery.undecided(), *await self._ledger.store.waiting_sessions()):
            self._dispatch.hint(session)
        self._errands.begin(self._ending.resume())

    def join(self, chat: Chat) -> None:
        """Delivers to one more chat, from now on or from the beginning on."""
        self._chats[chat.scheme] = chat
        if self._delivering:
            self._background.append(self._tasks.create_task(self._outbox.run(chat)))

    async def redeclare(self, declared: Sequence[Declared], agents: Collection[str] | None = None) -> None:
        """Brings the sessions to what the file says now, while they are at work. Only the `agents` that it names may
        run from now on."""
        if agents is not None:
            self._agents.permit(agents)
        await redeclare(declared, self._ledger, self.roster, self.control, self._turns, self._agents)
        self._naming.look()

    async def drain(self) -> None:
        """Begins no further turn, gives those that run `stop_grace_s` to end, with their tools at hand, and closes
        the agents."""
        await self._dispatch.close(self._ledger.limits.stop_grace_s)
        await self._agents.close()

    async def __aenter__(self) -> Self:
        await self._tasks.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            await self._dispatch.close(0)
            await self._agents.close()
        finally:
            self.terminals.close()
            self._errands.close()
            for task in self._background:
                task.cancel()
            await self._tasks.__aexit__(kind, error, trace)
