"""How a post is formatted, for the Telegram library; and how it reads where Telegram does not take that."""

import json
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

from telegram import MessageEntity
from telegram.error import BadRequest

from adapters.telegram.formatted import LINK
from adapters.telegram.text import MAX_UNITS, units
from bridge.post import Post


def entities_of(post: Post) -> Sequence[MessageEntity] | None:
    return MessageEntity.de_list(json.loads(post.markup), None) if post.markup is not None else None


def refuses_entities(error: BadRequest) -> bool:
    return "entit" in error.message.lower()


def plain(post: Post) -> Post:
    """The same without formatting: the targets of its links are written out, as far as there is room."""
    if post.markup is None:
        return post
    text = post.text
    ends = list(accumulate(map(units, text), initial=0))
    for entity in sorted(entities_of(post) or (), key=lambda one: one.offset, reverse=True):
        end = bisect_left(ends, entity.offset + entity.length)
        linked = f"{text[:end]} ({entity.url}){text[end:]}"
        if entity.type == LINK and units(linked) <= MAX_UNITS:
            text = linked
    return replace(post, text=text, markup=None)
