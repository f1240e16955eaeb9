"""The model of an agent: set by the option that it offers for it, or else not at all."""

from collections.abc import Iterator, Sequence
from typing import Any

import acp

from adapters.acp.failures import failure
from bridge.ports.runtime import StartFailed
from bridge.turn import FailureKind

_CATEGORY = "model"


async def set_model(connection: Any, alias: str, model: str, offered: Sequence[Any]) -> None:
    """`offered` are the options that the agent told of as its context was opened. Raises `StartFailed`."""
    option = next((one for one in offered if one.type == "select" and one.category == _CATEGORY), None)
    if option is None:
        raise _wrong(model, "it offers no choice of models")
    values = [one.value for one in _values(option.options)]
    if model not in values:
        raise _wrong(model, f"it offers {', '.join(values) or 'none'}")
    if option.current_value == model:
        return
    try:
        answer = await connection.set_config_option(config_id=option.id, session_id=alias, value=model)
    except acp.RequestError as error:
        raise _wrong(model, error) from None
    now = next((one.current_value for one in answer.config_options if one.id == option.id), model)
    if now != model:
        raise _wrong(model, f"it stays with {now}")


def _values(options: Sequence[Any]) -> Iterator[Any]:
    """Without the groups that an agent may sort them into."""
    for one in options:
        yield from getattr(one, "options", [one])


def _wrong(model: str, why: object) -> StartFailed:
    return StartFailed(failure(FailureKind.CONFIG, f"The agent cannot be set to the model {model!r}: {why}."))
