"""What a prompt has cost, pieced together from what the agent tells in several ways. `bridge.results` decides what of
it can be believed."""

from typing import TYPE_CHECKING, Any

from bridge.turn import Usage

if TYPE_CHECKING:
    from acp.schema import Cost, PromptResponse

_MODEL = ("model", "modelId", "model_id")
_PROVIDER = ("provider", "providerId", "provider_id")
_CALLS = ("calls", "apiCalls", "api_calls", "numTurns", "num_turns")


class Spending:
    """What the agent's context has cost in all, as it said last: a prompt has cost what came to it since it began. That
    is not known where the context is older than what has been heard of it."""

    def __init__(self) -> None:
        self.model: str | None = None
        self.totals = False
        """Whether the tokens that it tells at the end of a prompt are those of its process so far."""
        self._tokens = (0, 0)
        self._total: Cost | None = None
        self._before: float | None = None

    def told(self, cost: "Cost | None") -> None:
        self._total = cost or self._total

    def options(self, options: list[Any] | None) -> None:
        """The session's settings, among them its model."""
        for option in options or ():
            if option.category == "model" and isinstance(getattr(option, "current_value", None), str):
                self.model = option.current_value

    def begin(self, *, fresh: bool) -> None:
        """A prompt begins; in a `fresh` context nothing has been spent before it."""
        self._before = self._total.amount if self._total is not None else 0.0 if fresh else None

    def usage(self, response: "PromptResponse") -> Usage:
        told = response.usage
        used = self._own(told.input_tokens, told.output_tokens) if told is not None else (None, None)
        metas = [meta for meta in (response.field_meta, told.field_meta if told is not None else None) if meta]
        cost = self._total.amount - self._before if self._total is not None and self._before is not None else None
        return Usage(
            input_tokens=used[0],
            output_tokens=used[1],
            cost=cost,
            currency=self._total.currency if self._total is not None and cost is not None else None,
            model=found(metas, _MODEL) or self.model,
            provider=found(metas, _PROVIDER),
            calls=found(metas, _CALLS),
        )

    def _own(self, tokens_in: int, tokens_out: int) -> tuple[int, int]:
        """Of a prompt alone. Less than before means that it counts anew."""
        before_in, before_out = self._tokens
        self._tokens = (tokens_in, tokens_out)
        if not self.totals or tokens_in < before_in or tokens_out < before_out:
            return tokens_in, tokens_out
        return tokens_in - before_in, tokens_out - before_out


def origin(data: object) -> tuple[str | None, str | None]:
    """The provider and the model that the data of an error name."""
    return found([data], _PROVIDER), found([data], _MODEL)


def found(metas: list[Any], names: tuple[str, ...]) -> Any:
    """The first value under one of these names, in the metadata or in what an agent keeps there under its own name."""
    for meta in metas:
        for part in (meta, *meta.values()) if isinstance(meta, dict) else ():
            for name in names:
                if isinstance(part, dict) and isinstance(part.get(name), str | int | float):
                    return part[name]
    return None
