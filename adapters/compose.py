"""The composition root: the one place that knows which adapter stands behind which port."""

import asyncio
import logging
import os
import sys
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from adapters import acp, orphans
from adapters.acp import AgentSpec, Orders, Times
from adapters.acp.failures import disguised
from adapters.api.server import ControlServer
from adapters.api.web import WebServer
from adapters.files import HomeFiles
from adapters.gateway.hub import Hub
from adapters.gateway.runtime import WithGateways
from adapters.gateway.server import GatewayServer
from adapters.mcp import direct
from adapters.mcp import server as mcp
from adapters.process import exited
from adapters.settings.guarded import Guarded
from adapters.settings.home import BALLAST, DATABASE, FILES, SETTINGS_FILE
from adapters.settings.load import again
from adapters.settings.model import PeerText, Settings, TelegramSettings
from adapters.settings.outlook import Outlook, outlook
from adapters.settings.revisions import Revisions
from adapters.settings.watch import Watch, mark_of
from adapters.sole_poller import sole_poller
from adapters.sqlite.ballast import Ballast
from adapters.sqlite.store import open_store
from adapters.system import SystemClock, system_randomness
from adapters.telegram.chat import TelegramChat
from adapters.telegram.config import TelegramConfig, Webhook, secret_of
from adapters.worker.nursery import Nursery
from adapters.worker.runtime import Terms, WorkerRuntime
from bridge.caller import Descent
from bridge.flow.charter import accepted_copy, selectors_of
from bridge.flow.exchange import Exchange
from bridge.ids import Ids
from bridge.move import Move
from bridge.ports.chat import Chat
from bridge.ports.store import Store

log = logging.getLogger(__name__)

TOOL_SERVER = (sys.executable, "-P", "-m", "adapters.main", "mcp")
"""What an agent starts as its tool server. With -P the agent's directory cannot shadow our packages."""

WORKER_FORK = (sys.executable, "-P", "-m", "adapters.hosting")
"""What forks the processes in which agents run."""


@asynccontextmanager
async def bridge(
    file: Settings,
    environ: Mapping[str, str],
    *,
    chats: Sequence[Chat] = (),
    reread: asyncio.Event | None = None,
    accept: bool = False,
    alone: bool = False,
    listens: Callable[[str], None] = lambda address: None,
) -> AsyncIterator[Exchange]:
    """A bridge that accepts, until the context is left. `chats` are further chats beside the configured ones. Once
    `reread` is set, the operator's file is read again, as it is whenever it has changed. With `accept`, what it adds
    holds without an operator's word where it has no Telegram to ask one in.

    `alone` says that this process is nothing but a bridge: then it adopts what its agents leave behind, and whatever
    is below it comes of them. `listens` is told the address of the loopback listener, where one is configured."""
    clock, mark = SystemClock(), mark_of(file.home / SETTINGS_FILE)
    ballast, files = Ballast(file.home / BALLAST), HomeFiles(file.home / FILES)
    store = await open_store(file.home / DATABASE, ballast=ballast)
    try:
        accepted = await _accepted(store)
        granted = selectors_of(await store.live_grants(clock.now()))
        view = _outlook(file, accepted, chats, granted, accept=accept)
        settings = view.settings
        telegram = _telegram(settings, environ, clock, files, await store.moves())
        workers = _runtime(settings, environ, clock)
        hub = Hub(settings.limits.gateway_return_s)
        runtime = WithGateways(workers, hub)
        exchange = Exchange(
            profile=settings.profile,
            version=_version(),
            pid=os.getpid(),
            store=store,
            store_name="sqlite",
            policy=view.policy,
            runtime=runtime,
            chats={chat.scheme: chat for chat in (*chats, *([telegram] if telegram is not None else []))},
            clock=clock,
            randomness=system_randomness(),
            limits=settings.limits,
            tools={"TIELINE_HOME": str(settings.home)},
            confirm_in_chat=settings.confirm_in_chat,
            present=runtime.present,
            gone=exited,
            files=files,
            health=telegram.health if telegram is not None else lambda: None,
        )

        read = partial(again, settings.home, environ)
        revisions = Revisions(exchange, read, file, accepted, view, narrow=partial(_narrow, telegram))
        links = GatewayServer(hub, exchange, partial(direct.call, exchange), disguised, clock, _version())
        control = ControlServer(
            exchange,
            settings.home / "run" / "control.sock",
            mcp=partial(mcp.serve, exchange=exchange, version=_version()),
            descent_of=partial(_descent_of, hub, os.getpid() if alone else None),
            gateway=links.serve,
        )
        if alone:
            orphans.adopt()
        async with exchange, asyncio.TaskGroup() as serving:
            await exchange.start(settings.sessions)
            await links.open()
            await revisions.begin()
            served = serving.create_task(control.serve())
            accepting = serving.create_task(control.accepting.wait())
            await asyncio.wait([served, accepting], return_when=asyncio.FIRST_COMPLETED)
            await exchange.begin()
            # What is slow to import follows once the bridge accepts: people first, then tools for agents.
            later: list[asyncio.Task[Any]] = [accepting, serving.create_task(asyncio.to_thread(ballast.make))]
            if alone:
                later.append(serving.create_task(orphans.reaping()))
            if telegram is not None:
                later.append(serving.create_task(telegram.run(exchange.inbound, exchange.menu)))
            if settings.agents:
                later.append(serving.create_task(_preload(workers)))
            watch = Watch(settings.home / SETTINGS_FILE, mark, revisions.reload, reread or asyncio.Event())
            later.append(serving.create_task(watch.run()))
            try:
                async with _web(settings, exchange, listens):
                    yield exchange
            finally:
                await exchange.drain()
                for task in later:
                    task.cancel()
                await control.close()
                hub.close()
                await workers.close()
    finally:
        await store.close()


def _narrow(telegram: TelegramChat | None, people: TelegramSettings) -> None:
    if telegram is not None:
        telegram.narrow(_config(people))


async def _accepted(store: Store) -> Guarded | None:
    copy = accepted_copy(await store.regime())
    return Guarded.from_json(copy) if copy is not None else None


def _descent_of(hub: Hub, adopter: int | None, pids: Sequence[int]) -> Descent:
    """What a gateway starts is no person, whatever terminal that has."""
    gateways = {process.pid for process in hub.processes()}
    return Descent.FOREIGN if gateways.intersection(pids) else acp.descent_of(pids, adopter=adopter)


def _outlook(
    file: Settings, accepted: Guarded | None, chats: Sequence[Chat], granted: Collection[str], *, accept: bool
) -> Outlook:
    operators = accepted is not None and bool(accepted.operators)
    if accept and file.telegram is None:
        operators = False
    return outlook(file, accepted, ask=operators or any(chat.reports() for chat in chats), granted=granted)


async def _preload(runtime: WorkerRuntime) -> None:
    """Once all that an earlier bridge left is taken over."""
    await runtime.tidy()
    await runtime.preload()
    await mcp.preload()


@asynccontextmanager
async def _web(settings: Settings, exchange: Exchange, listens: Callable[[str], None]) -> AsyncIterator[None]:
    """The listener of the loopback, where one is configured. It ends first: agents have the control socket."""
    if settings.web is None:
        yield
        return
    over_http = mcp.Web(exchange, _version())
    web = WebServer(exchange, settings.web.host, settings.web.port, over_http.serve)
    serving = asyncio.create_task(web.serve())
    listens(web.address)
    try:
        yield
    finally:
        await over_http.close()
        await web.close()
        await serving


def _telegram(
    settings: Settings, environ: Mapping[str, str], clock: SystemClock, files: HomeFiles, moves: Sequence[Move]
) -> TelegramChat | None:
    given = settings.telegram
    if given is None:
        return None
    config = _config(given)
    claim = partial(sole_poller, config, settings.home, environ)
    return TelegramChat(config, clock, system_randomness(), claim=claim, files=files, moves=moves)


def _config(given: TelegramSettings) -> TelegramConfig:
    hook = given.webhook
    secret = (hook.secret or secret_of(given.token, hook.url)) if hook else ""
    webhook = Webhook(hook.url, hook.host, hook.port, secret) if hook else None
    return TelegramConfig(given.token, given.base_url, given.operators, given.users, given.chats, webhook)


def _runtime(settings: Settings, environ: Mapping[str, str], clock: SystemClock) -> WorkerRuntime:
    specs = {
        name: AgentSpec(
            name=name,
            command=agent.command,
            env=agent.env,
            env_pass=agent.env_pass,
            embed=agent.peer_text is PeerText.EMBED,
            hooks_env=agent.hooks_env,
            safe_env=agent.safe_env,
            preset=agent.preset,
        )
        for name, agent in settings.agents.items()
    }
    limits, base = settings.limits, {**environ, "TIELINE_HOME": str(settings.home)}
    times = Times(start_s=limits.start_timeout_s, stop_s=limits.stop_grace_s)
    return WorkerRuntime(
        Orders(specs, tool_server=TOOL_SERVER, base=base, times=times),
        Nursery(WORKER_FORK, acp.passed(environ)),
        settings.home / "run" / "workers",
        settings.home / "logs" / f"agents-{settings.profile}.log",
        Terms(limits.worker_grace_s, limits.start_timeout_s, limits.stop_grace_s),
        Ids(clock, system_randomness()).new,
    )


def _version() -> str:
    try:
        return version("tieline")
    except PackageNotFoundError:
        return "0"
