"""What an agent may pass to each tool. Unknown arguments and wrong types are refused."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

To = Annotated[str, Field(max_length=300, description="A session's id, e.g. default/career; see peer_sessions.")]
MessageIdent = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(description="Plain text or Markdown.")]
Key = Annotated[str, Field(min_length=1, max_length=200)]


class Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Sessions(Arguments):
    active: bool = Field(False, description="Only those that are live.")
    scope: Literal["profile", "all"] = Field("all", description="profile: only those of your own profile.")
    limit: int = Field(50, ge=1, le=200)
    cursor: str | None = Field(None, max_length=300, description="next_cursor of the page before.")


class Send(Arguments):
    to: To
    text: Text
    intent: Literal["request", "inform"] = Field(
        "request", description="request: you expect an answer, which arrives as mail. inform: you expect none."
    )
    wake: bool = Field(True, description="Start a turn if the recipient is idle. False: it waits until it is read.")
    in_reply_to: MessageIdent | None = Field(None, description="The message that this one goes on from.")
    key: Key | None = Field(None, description="With the same key again, nothing is sent twice.")


class Ask(Arguments):
    to: To
    text: Text
    timeout_s: float = Field(45, ge=0, le=3600, allow_inf_nan=False, description="Seconds to wait at most.")


class Receive(Arguments):
    limit: int = Field(20, ge=1, le=50)


class Ack(Arguments):
    message_ids: Annotated[list[MessageIdent], Field(min_length=1, max_length=200)]


class Reply(Arguments):
    message_id: MessageIdent = Field(description="The request that you answer.")
    text: Text
    kind: Literal["answer", "question"] = Field(
        "answer", description="question: you need to know more before you can answer."
    )


class Spawn(Arguments):
    agent: str = Field(max_length=63, description="The name of one of the operator's agents.")
    title: str = Field(max_length=80, description="What the child is for, in a few words.")
    task: Text = Field(description="What it is to do. It knows nothing but this.")


class OneMessage(Arguments):
    message_id: MessageIdent
