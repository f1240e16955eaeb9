"""Buttons that are pressed by words: a reply to what asks, with one of its answers."""

from bridge.errors import Code, Refused
from bridge.post import Button, Post

_SHORT = {
    "approve": "ok",
    "approve once": "ok",
    "approved": "ok",
    "once": "ok",
    "yes": "ok",
    "ok": "ok",
    "conversation": "okc",
    "this conversation": "okc",
    "always": "okp",
    "always for this pair": "okp",
    "pair": "okp",
    "deny": "no",
    "denied": "no",
    "no": "no",
}
"""What people say instead of an approval's labels, by the verb of the button that they mean."""

_DECISIONS = ("approval:", "question:")
"""Begin the keys of posts that ask and nothing else: what replies to them is an answer, or a mistake."""


def asks(post: Post) -> bool:
    """Whether what replies to it is an answer, or a mistake."""
    return post.key.startswith(_DECISIONS)


def meant(post: Post, text: str) -> Button | None:
    """The button of the post that a text in reply to it presses; None where it is not about that. Raises
    `invalid_request` where it can only be, and presses none."""
    said = " ".join(text.split()).casefold().rstrip(".!")
    decision = asks(post)
    choices = [button for button in post.buttons if button.action]
    for button in choices:
        if said == button.label.casefold() or (decision and _SHORT.get(said) == button.action.partition(":")[0]):
            return button
    if decision and choices:
        offered = ", ".join(button.label for button in choices)
        raise Refused(Code.INVALID_REQUEST, "that is none of the answers", remedy=f"They are: {offered}.")
    if decision and said in _SHORT:
        raise Refused(Code.INVALID_REQUEST, "this has been decided, or is no longer asked", remedy="Nothing waits.")
    return None
