"""What an agent can do, as it says itself: it is started, asked, and ended again."""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import acp
from acp import schema
from pydantic import ValidationError

from adapters.acp.agent import Link, death
from adapters.acp.child import Child
from adapters.acp.failures import failure, of_error, without_secrets
from adapters.acp.models import Choice, option_in, values_of
from adapters.acp.opening import CAPABILITIES
from adapters.acp.spec import AgentSpec, Times, environment, secrets_in
from adapters.acp.tail import Tail
from bridge.redaction import cleaned
from bridge.turn import Failure, FailureKind

_SHOWN = 20
_NAME_CHARS = 100


@dataclass(frozen=True, slots=True)
class Abilities:
    """`load`: it goes on with a context in another process. `embed`: it takes resources in prompts. `mcp` are the ways
    in which it reaches tool servers, `auth` those in which it is logged in."""

    name: str
    version: str
    load: bool
    resume: bool
    image: bool
    embed: bool
    mcp: tuple[str, ...]
    auth: tuple[str, ...]
    modes: tuple[str, ...] = ()
    models: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Probe:
    """`abilities` are there once it has said hello, also where it then opens no context, which is the `failure`."""

    seconds: float
    abilities: Abilities | None = None
    failure: Failure | None = None


async def probed(spec: AgentSpec, base: Mapping[str, str], *, cwd: str, times: Times) -> Probe:
    """Bounded by `times`; nothing of it is left. Raises `OSError` where its command cannot be run."""
    env = environment(spec, base)
    tail = Tail(hidden=secrets_in(env, spec.env_pass))
    began = time.monotonic()
    child = await Child.spawn(spec.command, cwd=cwd, env=env, tail=tail)
    told: Abilities | None = None
    problem: Failure | None = None
    link = Link(child, tail.redaction)
    try:
        async with asyncio.timeout(times.start_s):
            hello = await link.acp.initialize(acp.PROTOCOL_VERSION, client_capabilities=CAPABILITIES)
            told = _said(hello)
            opened = await link.acp.new_session(cwd=cwd, mcp_servers=[])
            told = _with_choices(told, opened, link.client.choice)
    except TimeoutError:
        problem = failure(FailureKind.TIMEOUT, f"it was not ready within {times.start_s:g} s")
    except acp.RequestError as error:
        problem = of_error(error.code, str(error), error.data, time.time())
    except ValidationError:
        problem = failure(FailureKind.CRASH, "its answers are no ACP")
    except ConnectionError:
        await child.gone()
        problem = death(child, tail, "before it was ready")
    finally:
        await child.stop(times.stop_s)
        await link.acp.close()
    if problem is not None:
        problem = without_secrets(problem, tail.redaction)
    return Probe(time.monotonic() - began, told, problem)


def _said(hello: schema.InitializeResponse) -> Abilities:
    info, offers = hello.agent_info, hello.agent_capabilities or schema.AgentCapabilities()
    prompts, sessions, mcp = offers.prompt_capabilities, offers.session_capabilities, offers.mcp_capabilities
    kinds = ("stdio", *(kind for kind in ("http", "sse") if getattr(mcp, kind, False)))
    return Abilities(
        name=_short(info.name if info is not None else ""),
        version=_short(info.version if info is not None else ""),
        load=bool(offers.load_session),
        resume=getattr(sessions, "resume", None) is not None,
        image=bool(prompts and prompts.image),
        embed=bool(prompts and prompts.embedded_context),
        mcp=kinds,
        auth=tuple(_short(method.id) for method in (hello.auth_methods or [])[:_SHOWN]),
    )


def _with_choices(told: Abilities, opened: schema.NewSessionResponse, choice: Choice | None) -> Abilities:
    modes = opened.modes.available_modes if opened.modes is not None else []
    option = option_in(opened.config_options or [])
    models = values_of(option) if option is not None else choice.offered if choice is not None else ()
    return Abilities(
        **{
            **asdict(told),
            "modes": tuple(_short(mode.id) for mode in modes[:_SHOWN]),
            "models": tuple(map(_short, models[:_SHOWN])),
        }
    )


def _short(text: str) -> str:
    return cleaned(text)[:_NAME_CHARS]
