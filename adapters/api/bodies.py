"""What callers may put into a request. Unknown fields and wrong types are refused."""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from bridge.launching import Options, Server
from bridge.message import Intent
from bridge.views import Send
from policy.selectors import BadSelector, selector


def _sound(text: str) -> str:
    """JSON can spell half of a surrogate pair, which is no character, and a NUL, which no file's name can hold; no
    store keeps either."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("the text holds half of a surrogate pair") from None
    if "\x00" in text:
        raise ValueError("the text holds a NUL")
    return text


Text = Annotated[str, AfterValidator(_sound)]
Name = Annotated[Text, Field(max_length=300)]
Key = Annotated[Text, Field(min_length=1, max_length=200)]
Ident = Annotated[Text, Field(max_length=200)]
Wait = Annotated[float, Field(ge=0, le=7 * 86_400, allow_inf_nan=False, description="Seconds to wait at most.")]


class Body(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)


class SendBody(Body):
    to: Name
    text: Text
    sender: Name | None = Field(None, alias="from", description="The session to speak as; see X-Tieline-Session.")
    intent: Literal["request", "inform"] = "request"
    wake: bool = False
    in_reply_to: Ident | None = None
    key: Key | None = None
    ttl_s: float | None = Field(None, gt=0, allow_inf_nan=False)

    def as_send(self) -> Send:
        return Send(self.to, self.text, Intent(self.intent), self.wake, self.in_reply_to, self.key, self.ttl_s)


class AskBody(Body):
    """A request that wakes its recipient, and the wait for its answer. With the same key the same question
    is waited for again."""

    to: Name
    text: Text
    sender: Name | None = Field(None, alias="from", description="The session to speak as; see X-Tieline-Session.")
    in_reply_to: Ident | None = None
    key: Key | None = None
    timeout_s: Wait = 60

    def as_send(self) -> Send:
        return Send(self.to, self.text, Intent.REQUEST, wake=True, in_reply_to=self.in_reply_to, key=self.key)


class SpawnBody(Body):
    agent: Name
    title: Name
    task: Text


class ServerBody(Body):
    command: Annotated[list[Text], Field(min_length=1, max_length=100)]
    env_pass: Annotated[list[Name], Field(max_length=100)] = []


class OptionsBody(Body):
    """What the session's agent is started with; what is left out is as the agent has it."""

    model: Name | None = None
    mode: Name | None = None
    preamble: Text | None = None
    servers: dict[Name, ServerBody] = {}
    files: Annotated[list[Text], Field(max_length=100)] = []
    hooks: bool = False
    safe: bool = False
    label: Name | None = None
    fallback: Annotated[list[Name], Field(max_length=100)] = []

    def as_options(self) -> Options:
        servers = (Server(name, tuple(one.command), tuple(one.env_pass)) for name, one in sorted(self.servers.items()))
        return Options(
            model=self.model,
            mode=self.mode,
            preamble=self.preamble,
            servers=tuple(servers),
            files=tuple(self.files),
            hooks=self.hooks,
            safe=self.safe,
            label=self.label,
            fallback=tuple(self.fallback),
        )


class SessionBody(Body):
    """With the same key the same again is the same session. With `topic` it gets a topic of its own in that chat; an
    empty text means the only chat with topics."""

    handle: Name
    agent: Name | None = None
    cwd: Annotated[Text, Field(max_length=4096)] | None = None
    place: Name | None = None
    title: Name | None = None
    options: OptionsBody = OptionsBody()
    key: Key | None = None
    topic: Name | None = None


class TopicBody(Body):
    """Without a chat it is the only one with topics."""

    chat: Name | None = None


class StopBody(Body):
    everything: bool = Field(False, description="What is queued is cancelled too.")


class TokenBody(Body):
    name: Name


class TakeBody(Body):
    session: Name | None = None


class FollowBody(Body):
    session: Name | None = None
    known: list[Ident] = []
    timeout_s: Wait = 25


class AckBody(Body):
    message_ids: Annotated[list[Ident], Field(min_length=1, max_length=1000)]


class DecisionBody(Body):
    verdict: Literal["approve", "deny"]
    scope: Literal["once", "conversation", "pair"] = "once"


VerbName = Literal["discover", "send", "ask", "wake", "broadcast", "claim", "spawn", "query_status"]


class GrantBody(Body):
    sender: Name = Field(alias="from")
    to: Name
    verbs: Annotated[list[VerbName], Field(min_length=1, max_length=8)]
    scope: Literal["once", "conversation", "pair", "always"] = "pair"
    effect: Literal["allow", "deny"] = "allow"
    conversation_id: Ident | None = None
    life_s: float | None = Field(None, gt=0, allow_inf_nan=False)

    @model_validator(mode="after")
    def _names_sessions(self) -> "GrantBody":
        """Of this scope both sides are selectors, as in a rule. Those of the others are looked up by the core."""
        if self.scope == "always":
            for text in (self.sender, self.to):
                try:
                    selector(text)
                except BadSelector as error:
                    raise ValueError(f"{error}: {error.remedy}") from None
        return self


class JoinBody(Body):
    """`client` is what the agent calls itself, `cwd` where it works, `session` the one that its environment names."""

    client: Annotated[Text, Field(min_length=1, max_length=200)]
    cwd: Annotated[Text, Field(max_length=4096)]
    session: Name | None = None


class EventBody(Body):
    """`client` and `cwd` as in `JoinBody`, of an agent that shares its process with others: it joins by its events."""

    client: Annotated[Text, Field(min_length=1, max_length=200)] | None = None
    cwd: Annotated[Text, Field(max_length=4096)] = ""
    event: Literal["start", "prompt", "woken", "tool", "stop", "stop-again", "idle", "end"]
