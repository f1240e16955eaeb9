"""Agents that are given a key in their environment and still want to be told to use it."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import acp

from adapters.acp.failures import AUTH_REQUIRED
from adapters.acp.presets import PRESETS

T = TypeVar("T")


async def logged_in(
    connection: Any, preset: str | None, env: Mapping[str, str], open_context: Callable[[], Awaitable[T]]
) -> T:
    """Opens a context; where the agent wants a login and has a key, by way of that. Raises `acp.RequestError`."""
    try:
        return await open_context()
    except acp.RequestError as error:
        known = PRESETS.get(preset or "")
        login = known.login if known is not None else None
        if error.code != AUTH_REQUIRED or login is None or login.method is None:
            raise
        if not any(env.get(name) for name in login.variables):
            raise
    await connection.authenticate(method_id=login.method)
    return await open_context()
