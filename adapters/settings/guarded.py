"""What agents must not widen (DESIGN §4): the part of the settings by which they would gain."""

import hashlib
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

from adapters.settings.launch_widening import gained, kept_to
from adapters.settings.model import AgentSettings, Settings, TelegramSettings, WebhookSettings
from adapters.settings.surroundings import Surroundings, held_to, surroundings, wider
from bridge.decision import Effect, Verb
from bridge.launching import Options, options_from
from bridge.session import Declared, Kind, PeerTools
from policy.rules import Rule
from policy.selectors import Selector
from policy.widening import widened

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Guarded:
    """`base_url` is None without Telegram. `commands` and `surroundings` are those of the agents, by their names, and
    `agents` the names of those that sessions have; `peer_tools` and `peer_modes` are those of the sessions that have
    others than the default, by their ids, and so are `launches`, what their agents are started with. `labels` are those
    by which rules may name a session (`tag:office`, `kind:chat`). `webhook` is where Telegram tells what people say,
    and a digest of the secret by which it is believed."""

    rules: tuple[Rule, ...]
    operators: frozenset[int]
    users: frozenset[int]
    chats: frozenset[int]
    base_url: str | None
    commands: Mapping[str, tuple[str, ...]]
    peer_tools: Mapping[str, PeerTools] = field(default_factory=dict)
    peer_modes: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, frozenset[str]] = field(default_factory=dict)
    surroundings: Mapping[str, Surroundings] = field(default_factory=dict)
    agents: Mapping[str, str] = field(default_factory=dict)
    launches: Mapping[str, Options] = field(default_factory=dict)
    confirm_in_chat: bool = True
    webhook: str | None = None

    def remembering(self, earlier: "Guarded") -> "Guarded":
        """With what was said before of sessions that are left out now: the same name opens the same session again."""

        def with_absent(now: Mapping[str, _T], before: Mapping[str, _T]) -> Mapping[str, _T]:
            return {**{session: said for session, said in before.items() if session not in self.labels}, **now}

        return replace(
            self,
            peer_tools=with_absent(self.peer_tools, earlier.peer_tools),
            peer_modes=with_absent(self.peer_modes, earlier.peer_modes),
            labels=with_absent(self.labels, earlier.labels),
            agents=with_absent(self.agents, earlier.agents),
            launches=with_absent(self.launches, earlier.launches),
        )

    def to_json(self) -> dict[str, Any]:
        """The same for rules that say the same: neither their names nor their lines are in it."""
        return {
            "rules": [_from_rule(rule) for rule in self.rules],
            "operators": sorted(self.operators),
            "users": sorted(self.users),
            "chats": sorted(self.chats),
            "base_url": self.base_url,
            "commands": {name: list(command) for name, command in sorted(self.commands.items())},
            "peer_tools": {session: tools.value for session, tools in sorted(self.peer_tools.items())},
            "peer_modes": dict(sorted(self.peer_modes.items())),
            "labels": {session: sorted(labels) for session, labels in sorted(self.labels.items())},
            "surroundings": {name: one.to_json() for name, one in sorted(self.surroundings.items())},
            "agents": dict(sorted(self.agents.items())),
            "launches": {session: asdict(one) for session, one in sorted(self.launches.items())},
            "confirm_in_chat": self.confirm_in_chat,
            "webhook": self.webhook,
        }

    @classmethod
    def from_json(cls, copy: Mapping[str, Any]) -> "Guarded":
        return cls(
            rules=tuple(_to_rule(number, rule) for number, rule in enumerate(copy["rules"])),
            operators=frozenset(copy["operators"]),
            users=frozenset(copy["users"]),
            chats=frozenset(copy["chats"]),
            base_url=copy["base_url"],
            commands={name: tuple(command) for name, command in copy["commands"].items()},
            peer_tools={session: PeerTools(tools) for session, tools in copy["peer_tools"].items()},
            peer_modes=copy["peer_modes"],
            labels={session: frozenset(labels) for session, labels in copy["labels"].items()},
            surroundings={name: Surroundings.from_json(one) for name, one in copy.get("surroundings", {}).items()},
            agents=copy.get("agents", {}),
            launches={session: options_from(one) for session, one in copy.get("launches", {}).items()},
            confirm_in_chat=copy["confirm_in_chat"],
            webhook=copy.get("webhook"),
        )


def guarded(settings: Settings) -> Guarded:
    telegram = settings.telegram
    return Guarded(
        rules=settings.rules,
        operators=telegram.operators if telegram else frozenset(),
        users=telegram.users if telegram else frozenset(),
        chats=telegram.chats if telegram else frozenset(),
        base_url=telegram.base_url if telegram else None,
        webhook=_webhook(telegram.webhook) if telegram and telegram.webhook else None,
        commands={name: agent.command for name, agent in settings.agents.items()},
        peer_tools={
            one.id: one.habits.peer_tools for one in settings.sessions if one.habits.peer_tools is not PeerTools.ASK
        },
        peer_modes={one.id: one.habits.peer_mode for one in settings.sessions if one.habits.peer_mode is not None},
        labels={one.id: _labels(one) for one in settings.sessions},
        surroundings={name: surroundings(agent) for name, agent in settings.agents.items()},
        agents={one.id: one.agent for one in settings.sessions if one.agent is not None},
        launches={one.id: one.options for one in settings.sessions if one.options != Options()},
        confirm_in_chat=settings.confirm_in_chat,
    )


def widening(accepted: Guarded, wanted: Guarded, granted: Collection[str] = ()) -> list[str]:
    """What agents, or whoever writes the file for them, would gain: a line each for people, the gravest first. It is
    one too that nobody would be left to ask. `granted` are the selectors of the grants that hold."""
    return [
        *_people(accepted, wanted),
        *_connection(accepted, wanted),
        *_commands(accepted, wanted),
        *_behind_peers(accepted, wanted),
        *_launched(accepted, wanted),
        *_labelled(accepted, wanted, granted),
        *_confirmed(accepted, wanted),
        *widened(accepted.rules, wanted.rules),
    ]


def restricted(settings: Settings, accepted: Guarded) -> Settings:
    """The settings, narrowed to what was accepted. An agent whose command was not is left out: its sessions say that
    it cannot run. So is a new session that would be started with what was not: without it, it might do more. The rules
    are as they are, for two policies at once do the same for them."""
    return replace(
        settings,
        telegram=_restricted(settings.telegram, accepted) if settings.telegram else None,
        agents=dict(_held_agents(settings, accepted)),
        sessions=tuple(_held_to(one, accepted) for one in settings.sessions if not _waits_whole(one, accepted)),
        confirm_in_chat=settings.confirm_in_chat or accepted.confirm_in_chat,
    )


def _held_agents(settings: Settings, accepted: Guarded) -> Iterator[tuple[str, AgentSettings]]:
    for name, agent in settings.agents.items():
        known = accepted.surroundings.get(name)
        held = held_to(agent, known) if known is not None else agent
        if held is not None and name in accepted.commands:
            yield name, replace(held, command=accepted.commands[name])


def _waits_whole(session: Declared, accepted: Guarded) -> bool:
    return session.id not in accepted.labels and any(gained(Options(), session.options))


def _held_to(session: Declared, accepted: Guarded) -> Declared:
    """A new session has no label yet by which a rule could name it, but for its kind."""
    labels = accepted.labels.get(session.id, frozenset())
    project = next((one.partition(":")[2] for one in labels if one.startswith("project:")), None)
    return replace(
        session,
        agent=accepted.agents.get(session.id, session.agent) if session.agent is not None else None,
        kind=next((Kind(one.partition(":")[2]) for one in labels if one.startswith("kind:")), session.kind),
        project=project,
        tags=tuple(sorted(one.partition(":")[2] for one in labels if one.startswith("tag:"))),
        options=kept_to(accepted.launches.get(session.id, Options()), session.options),
        habits=replace(
            session.habits,
            peer_tools=min(session.habits.peer_tools, _tools(accepted, session.id), key=_GENEROSITY.index),
            peer_mode=accepted.peer_modes.get(session.id, session.habits.peer_mode),
        ),
    )


def _restricted(telegram: TelegramSettings, accepted: Guarded) -> TelegramSettings | None:
    if accepted.base_url is None:
        return None
    # Whoever decides now decides also that nobody of them shall.
    operators = telegram.operators & accepted.operators or accepted.operators
    heard = (telegram.operators | telegram.users) & (accepted.operators | accepted.users)
    return replace(
        telegram,
        base_url=accepted.base_url,
        operators=operators,
        users=heard - operators,
        chats=telegram.chats & accepted.chats,
        webhook=telegram.webhook if telegram.webhook and _webhook(telegram.webhook) == accepted.webhook else None,
    )


def _webhook(webhook: WebhookSettings) -> str:
    secret = hashlib.sha256(webhook.secret.encode()).hexdigest()[:16] if webhook.secret else ""
    return f"{webhook.url} {secret}".strip()


def _people(accepted: Guarded, wanted: Guarded) -> Iterator[str]:
    if accepted.operators and not accepted.operators & wanted.operators:
        yield f"telegram.operators: nobody would be left of those who decide now ({_listed(accepted.operators)})"
    if operators := wanted.operators - accepted.operators:
        yield f"telegram.operators: {_listed(operators)} may approve, stop, bind and change the policy"
    if users := wanted.users - accepted.users - accepted.operators:
        yield f"telegram.users: {_listed(users)} may talk"


def _connection(accepted: Guarded, wanted: Guarded) -> Iterator[str]:
    if chats := wanted.chats - accepted.chats:
        yield f"telegram.chats: people are heard in {_listed(chats)}"
    if wanted.base_url not in (None, accepted.base_url):
        instead = f" instead of {accepted.base_url}" if accepted.base_url else ""
        yield f"telegram.base_url: {wanted.base_url}{instead} gets the bot's token"
    if wanted.webhook not in (None, accepted.webhook):
        yield f"telegram.webhook: {wanted.webhook.partition(' ')[0]} gets what people say, and may speak for them"


def _commands(accepted: Guarded, wanted: Guarded) -> Iterator[str]:
    for name, command in wanted.commands.items():
        earlier = accepted.commands.get(name)
        if command != earlier:
            instead = f" instead of {shlex.join(earlier)}" if earlier else ""
            yield f"agents.{name}: runs {shlex.join(command)}{instead}"
        known = accepted.surroundings.get(name, Surroundings() if earlier is None else wanted.surroundings[name])
        yield from (f"agents.{name}: {line}" for line in wider(known, wanted.surroundings[name]))


_GENEROSITY = (PeerTools.DENY, PeerTools.ASK, PeerTools.INHERIT)


def _tools(guarded: Guarded, session: str) -> PeerTools:
    return guarded.peer_tools.get(session, PeerTools.ASK)


def _behind_peers(accepted: Guarded, wanted: Guarded) -> Iterator[str]:
    for session in sorted({*accepted.peer_tools, *wanted.peer_tools}):
        earlier, now = _tools(accepted, session), _tools(wanted, session)
        if _GENEROSITY.index(now) > _GENEROSITY.index(earlier):
            yield f"{session}: peer_tools is {now} instead of {earlier}"
    for session, agent in wanted.agents.items():
        if accepted.agents.get(session, agent) != agent:
            yield f"{session}: its agent is {agent} instead of {accepted.agents[session]}"
    for session, mode in accepted.peer_modes.items():
        if wanted.peer_modes.get(session) != mode:
            yield f"{session}: peer_mode is {wanted.peer_modes.get(session, 'none')} instead of {mode}"


def _launched(accepted: Guarded, wanted: Guarded) -> Iterator[str]:
    for session in sorted({*accepted.launches, *wanted.launches} & {*wanted.labels}):
        earlier, now = (guarded.launches.get(session, Options()) for guarded in (accepted, wanted))
        yield from (f"{session}: {line}" for line in gained(earlier, now))


def _labels(session: Declared) -> frozenset[str]:
    project = [f"project:{session.project}"] if session.project is not None else []
    return frozenset({f"kind:{session.kind}", *project, *(f"tag:{tag}" for tag in session.tags)})


def _labelled(accepted: Guarded, wanted: Guarded, granted: Collection[str]) -> Iterator[str]:
    """A label counts where a rule or a grant names it: a session gains by one that an allow names, and by losing one
    that a deny does."""
    by_rules = {each for rule in (*accepted.rules, *wanted.rules) for each in (*rule.senders, *rule.recipients)}
    named = by_rules.union(granted)
    for session, labels in sorted(wanted.labels.items()):
        earlier = accepted.labels.get(session)
        if earlier is None:
            changed = {label for label in labels & named if not label.startswith("kind:")}
        else:
            changed = set((labels ^ earlier) & named)
        if changed:
            yield f"{session}: {', '.join(sorted(changed))} {'is' if len(changed) == 1 else 'are'} new or gone there"


def _confirmed(accepted: Guarded, wanted: Guarded) -> Iterator[str]:
    if accepted.confirm_in_chat and not wanted.confirm_in_chat:
        yield "policy.confirm_in_chat: what a terminal would widen holds without a word in the chat"


def _listed(numbers: frozenset[int]) -> str:
    return ", ".join(map(str, sorted(numbers)))


def _from_rule(rule: Rule) -> dict[str, Any]:
    return {
        "from": list(rule.senders),
        "to": list(rule.recipients),
        "verbs": sorted(rule.verbs),
        "effect": rule.effect.value,
    }


def _to_rule(number: int, rule: Mapping[str, Any]) -> Rule:
    return Rule(
        senders=tuple(map(Selector, rule["from"])),
        recipients=tuple(map(Selector, rule["to"])),
        verbs=frozenset(map(Verb, rule["verbs"])),
        effect=Effect(rule["effect"]),
        name=f"rule {number} of those that an operator has accepted",
    )
