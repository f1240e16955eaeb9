"""Small worlds for laws: four ids in two profiles, and every form of selector, so that things meet by chance."""

from hypothesis import strategies as st

from bridge.decision import Circumstances, Effect, Party, Verb
from bridge.grant import Grant, GrantId, Scope
from bridge.ids import ConversationId, SessionId
from bridge.session import Kind
from policy.rules import Rule
from policy.selectors import Selector

PROFILES = ("default", "work")
HANDLES = ("a", "b")
IDS = [f"{profile}/{handle}" for profile in PROFILES for handle in HANDLES]
WIDE = ["*", "tag:x", "tag:y", "kind:chat", "kind:shell", "project:p"]
NAMED = [*IDS, *(f"{profile}/*" for profile in PROFILES)]
CONVERSATIONS = [None, ConversationId("c-1"), ConversationId("c-2")]

parties = st.builds(
    Party,
    st.sampled_from(IDS).map(SessionId),
    st.sampled_from([Kind.CHAT, Kind.SHELL]),
    st.sampled_from([None, "p"]),
    st.frozensets(st.sampled_from(["x", "y"])),
)
crowds = st.lists(parties, max_size=6, unique_by=lambda each: each.id)
verbs = st.sampled_from(Verb)
effects = st.sampled_from(Effect)
times = st.integers(0, 6).map(float)
contexts = st.builds(Circumstances, times, st.sampled_from(CONVERSATIONS))


def rules_of(selectors: list[str], effect: st.SearchStrategy[Effect] = effects) -> st.SearchStrategy[Rule]:
    sides = st.lists(st.sampled_from(selectors).map(Selector), min_size=1, max_size=2).map(tuple)
    lines = st.integers(1, 10_000)
    return st.builds(
        lambda senders, recipients, of, what, line: Rule(senders, recipients, of, what, f"line {line}", line),
        sides,
        sides,
        st.frozensets(verbs, min_size=1, max_size=3),
        effect,
        lines,
    )


def grants_of(selectors: list[str], effect: Effect | None = None) -> st.SearchStrategy[Grant]:
    """Some have ended, some are used up or revoked."""
    moments = st.none() | times
    return st.builds(
        Grant,
        st.integers(1, 10_000).map(lambda number: GrantId(f"g-{number}")),
        st.sampled_from(selectors),
        st.sampled_from(selectors),
        st.lists(verbs, min_size=1, max_size=3, unique=True).map(tuple),
        st.just(effect) if effect else st.sampled_from([Effect.ALLOW, Effect.DENY]),
        st.sampled_from(Scope),
        st.just("ada"),
        st.just("cli"),
        given_at=times,
        expires_at=moments,
        conversation=st.sampled_from(CONVERSATIONS),
        used_at=st.none() | st.none() | times,
        revoked_at=st.none() | st.none() | times,
    )


some_rules = st.lists(rules_of(NAMED + WIDE), max_size=6, unique_by=lambda each: each.line)
some_grants = st.lists(grants_of(NAMED + WIDE), max_size=3, unique_by=lambda each: each.id)
