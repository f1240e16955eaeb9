"""Builds the plain settings from what the schema and the checks let through."""

from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

from pydantic import SecretStr

from adapters.acp.presets import PRESETS
from adapters.settings.addresses import Address
from adapters.settings.commands import COMMAND, driven
from adapters.settings.home import expanded
from adapters.settings.model import (
    AgentSettings,
    PeerText,
    Settings,
    StoreSettings,
    TelegramSettings,
    WebhookSettings,
    WebSettings,
)
from adapters.settings.problems import Problem
from adapters.settings.schema import AgentTable, File, RuleTable, SessionTable, TelegramTable, WebhookTable
from adapters.settings.secret_files import Secrets
from adapters.settings.sources import Sources
from adapters.settings.zone import machine_zone
from bridge.decision import Effect, Verb
from bridge.gateway import agent_of
from bridge.ids import Place, scheme_of, session_id
from bridge.launching import Options, Server
from bridge.limits import Limits
from bridge.session import Declared, Habits, Kind
from policy.rules import Rule
from policy.selectors import Selector


def built(file: File, sources: Sources, home: Path, environ: Mapping[str, str], secrets: Secrets) -> Settings:
    """Of `secrets` none is a problem."""
    return Settings(
        home=home,
        profile=file.profile,
        store=StoreSettings(file.store.url, file.store.retention_days),
        telegram=_telegram(file.telegram, secrets) if file.telegram else None,
        web=_web(file.web.listen) if file.web else None,
        limits=Limits(**file.limits.model_dump(), retention_s=file.store.retention_days * 86_400),
        agents={name: _agent(name, table) for name, table in file.agents.items()},
        sessions=tuple(_session(file.profile, handle, table, environ) for handle, table in file.sessions.items()),
        rules=tuple(_rule(index, table, sources) for index, table in enumerate(file.policy.rules)),
        confirm_in_chat=file.policy.confirm_in_chat,
    )


def _telegram(table: TelegramTable, secrets: Secrets) -> TelegramSettings:
    return TelegramSettings(
        token=_kept(secrets.token, table.token) or "",
        base_url=table.base_url,
        operators=frozenset(table.operators),
        users=frozenset(table.users),
        chats=frozenset(table.chats),
        webhook=_webhook(table.webhook, secrets) if table.webhook else None,
    )


def _webhook(table: WebhookTable, secrets: Secrets) -> WebhookSettings:
    return WebhookSettings(table.url, table.listen.host, table.listen.port, _kept(secrets.webhook, table.secret))


def _kept(in_a_file: str | Problem | None, itself: SecretStr | None) -> str | None:
    if isinstance(in_a_file, str):
        return in_a_file
    return itself.get_secret_value() if itself is not None else None


def _web(listen: Address) -> WebSettings:
    return WebSettings(listen.host, listen.port)


def _agent(name: str, table: AgentTable) -> AgentSettings:
    preset = PRESETS.get(table.preset or "")
    return AgentSettings(
        name=name,
        command=_command(table),
        env=dict(table.env),
        env_pass=tuple(preset.env_pass if table.env_pass is None and preset is not None else table.env_pass or ()),
        peer_text=PeerText(table.peer_text),
        hooks_env=hooks_env(table),
        safe_env=dict(preset.safe_env if table.safe_env is None and preset is not None else table.safe_env or {}),
        preset=table.preset,
    )


def _command(table: AgentTable) -> tuple[str, ...]:
    if table.mode == COMMAND:
        return driven(table.model_dump())
    return tuple(table.command or PRESETS[table.preset or ""].command)


def hooks_env(table: AgentTable) -> Mapping[str, str]:
    preset = PRESETS.get(table.preset or "")
    return dict(preset.hooks_env if table.hooks_env is None and preset is not None else table.hooks_env or {})


def _session(profile: str, handle: str, table: SessionTable, environ: Mapping[str, str]) -> Declared:
    return Declared(
        id=session_id(profile, handle),
        title=table.title or handle.replace("-", " ").title(),
        kind=_kind(handle, table),
        agent=_agent_of(table),
        cwd=str(expanded(table.cwd, environ)) if table.cwd else None,
        project=table.project,
        tags=tuple(table.tags),
        places=tuple(Place(place) for place in table.places),
        habits=_habits(table, environ),
        options=options(table),
    )


def _agent_of(table: SessionTable) -> str | None:
    """A gateway runs its sessions itself, which are told by their place."""
    if table.kind == Kind.GATEWAY and table.agent is None and table.places:
        return agent_of(scheme_of(Place(table.places[0])))
    return table.agent


def options(table: SessionTable) -> Options:
    return Options(
        model=table.model,
        mode=table.mode,
        preamble=table.preamble,
        servers=tuple(
            Server(name, tuple(one.command), tuple(one.env_pass)) for name, one in sorted(table.servers.items())
        ),
        files=tuple(table.files),
        hooks=table.hooks,
        safe=table.safe,
        label=table.label,
        fallback=tuple(table.fallback),
    )


def _habits(table: SessionTable, environ: Mapping[str, str]) -> Habits:
    given = {each.name: getattr(table, each.name) for each in fields(Habits)}
    given["timezone"] = table.timezone or (machine_zone(environ) if table.quiet else None) or "UTC"
    return Habits(**given)


def _kind(handle: str, table: SessionTable) -> Kind:
    """What the bridge runs is a chat unless it says otherwise, the rest a person's terminal: as which, other
    than as a shell, no cron job or daemon may speak."""
    if table.kind:
        return Kind(table.kind)
    if handle == Kind.SHELL:
        return Kind.SHELL
    return Kind.CHAT if table.agent else Kind.TERMINAL


def _rule(index: int, table: RuleTable, sources: Sources) -> Rule:
    path = ("policy", "rules", index)
    return Rule(
        senders=tuple(Selector(each) for each in table.senders),
        recipients=tuple(Selector(each) for each in table.recipients),
        verbs=frozenset(Verb(verb) for verb in table.verbs),
        effect=Effect(table.effect),
        name=f"policy.rules[{index}] ({sources.where(*path)})",
        line=sources.line(*path),
    )
