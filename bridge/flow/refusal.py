"""What a refusal leaves behind: its decision, its step in the trace, and a word to the people concerned."""

from collections import Counter
from dataclasses import replace

from bridge import wording
from bridge.admission import Facts, verbs_of
from bridge.caller import Caller
from bridge.decision import Effect, Verdict
from bridge.errors import Code, Refused
from bridge.flow.showing import show
from bridge.flow.work import Work
from bridge.ids import ConversationId, Place, SessionId
from bridge.loops import Standing
from bridge.post import Button, PostKind
from bridge.views import Send

_TELLS_PEOPLE = frozenset({Code.DEPTH_LIMIT, Code.VISIT_LIMIT, Code.CONVERSATION_BUDGET, Code.RATE_LIMITED})
_NOWHERE = Standing(None, 0, (), None)


async def refuse(work: Work, caller: Caller, send: Send, facts: Facts, refused: Refused, place: Place | None) -> None:
    """At a limit the people at the conversation's first place are told, once (DESIGN §3)."""
    ident = _record(work, caller, send, facts.standing, refused)
    # The same request, tried again under its key, is shown in the same post.
    shown = f"refused:{facts.sender.id}:{send.key or ident}"
    line = wording.handoff_line(facts.sender.id, send.to[:200], send.text, wording.refused_status(refused))
    await show(work, shown, place, PostKind.HANDOFF, line)
    conversation = facts.conversation
    if refused.code in _TELLS_PEOPLE and conversation is not None and not conversation.told:
        work.put(replace(conversation, told=True))
        which = f"{conversation.id}:{conversation.budget}"
        await show(
            work,
            f"limit:{which}",
            conversation.place,
            PostKind.QUESTION,
            wording.limit_notice(refused, facts.sender.id, send.to[:200], await _picture(work, conversation.id)),
            buttons=(Button(f"Go on (+{work.limits.conversation_messages})", f"more:{which}"),),
        )


async def _picture(work: Work, conversation: ConversationId) -> list[tuple[SessionId, SessionId, int]]:
    """Who has sent how many messages to whom in a conversation, in the order in which they began."""
    admitted = [one for one in await work.store.verdicts(conversation) if one.code is None and one.verbs]
    sent = Counter((one.sender, SessionId(one.recipient)) for one in admitted)
    return [(sender, recipient, count) for (sender, recipient), count in sent.items()]


def refuse_early(work: Work, caller: Caller, send: Send, refused: Refused) -> Refused:
    """Before it is known where the request stands."""
    _record(work, caller, send, _NOWHERE, refused)
    return refused


def _record(work: Work, caller: Caller, send: Send, standing: Standing, refused: Refused) -> str:
    """Stores the decision and traces it. Returns the id of the decision."""
    verdict = Verdict(
        id=work.new_id(),
        at=work.now,
        sender=caller.session,
        recipient=send.to[:200].encode("utf-8", "replace").decode(),
        origin=caller.origin,
        verbs=tuple(verb.value for verb in verbs_of(send)),
        effect=Effect.DENY,
        rule=refused.rule or refused.code.value,
        reason=refused.reason,
        code=refused.code,
        cause=standing.cause,
        conversation=standing.conversation,
        person=caller.person,
    )
    work.verdict(verdict)
    work.refused_step(
        caller.session,
        standing.conversation,
        standing.cause,
        effect=Effect.DENY.value,
        code=refused.code.value,
        rule=verdict.rule,
        reason=refused.reason,
        to=verdict.recipient,
        depth=standing.depth,
    )
    return verdict.id
