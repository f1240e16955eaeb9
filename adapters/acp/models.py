"""The model of an agent: set by the option that it offers for it, or else by the older way of those that offer models
beside their options."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import acp

from adapters.acp.failures import failure
from bridge.ports.runtime import StartFailed
from bridge.turn import FailureKind

_CATEGORY = "model"
_SET = "session/set_model"


@dataclass(frozen=True, slots=True)
class Choice:
    """The models that an agent offers in the older way, which `acp` knows no more, and which of them is set."""

    offered: tuple[str, ...]
    current: str | None

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> "Choice | None":
        """What the answer to a request holds of it, as it came."""
        state = answer.get("models")
        if not isinstance(state, dict) or not isinstance(state.get("availableModels"), list):
            return None
        models = [one.get("modelId") for one in state["availableModels"] if isinstance(one, dict)]
        current = state.get("currentModelId")
        return cls(tuple(one for one in models if isinstance(one, str)), current if isinstance(current, str) else None)


async def set_model(connection: Any, alias: str, model: str, options: Sequence[Any], choice: Choice | None) -> bool:
    """`options` and `choice` are what the agent offered as its context was opened. Returns whether it was set in the
    older way. Raises `StartFailed`."""
    option = option_in(options)
    if option is None and choice is None:
        raise _wrong(model, "it offers no choice of models")
    offered = values_of(option) if option is not None else choice.offered if choice is not None else ()
    if model not in offered:
        raise _wrong(model, f"it offers {', '.join(offered) or 'none'}")
    try:
        if option is not None:
            await _set_option(connection, alias, model, option)
            return False
        if choice is None or choice.current == model:
            return False
        await connection._conn.send_request(_SET, {"sessionId": alias, "modelId": model})
    except acp.RequestError as error:
        raise _wrong(model, error) from None
    return True


async def _set_option(connection: Any, alias: str, model: str, option: Any) -> None:
    if option.current_value == model:
        return
    answer = await connection.set_config_option(config_id=option.id, session_id=alias, value=model)
    now = next((one.current_value for one in answer.config_options if one.id == option.id), model)
    if now != model:
        raise _wrong(model, f"it stays with {now}")


def option_in(options: Sequence[Any]) -> Any:
    """The option that sets the model, or None."""
    return next((one for one in options if one.type == "select" and one.category == _CATEGORY), None)


def values_of(option: Any) -> tuple[str, ...]:
    return tuple(one.value for one in _values(option.options))


def _values(options: Sequence[Any]) -> Iterator[Any]:
    """Without the groups that an agent may sort them into."""
    for one in options:
        yield from getattr(one, "options", [one])


def _wrong(model: str, why: object) -> StartFailed:
    return StartFailed(failure(FailureKind.CONFIG, f"The agent cannot be set to the model {model!r}: {why}."))
