"""What the policy finds out, as lines for people. `when` writes a time, given in seconds since 1970."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence

from bridge.decision import Effect, Verb
from bridge.grant import Grant
from bridge.ids import profile_of
from policy.change import Change, Entry, Kind, is_of_two, written
from policy.check import Finding, Level
from policy.explain import Explanation
from policy.rules import Rule
from policy.simulate import Apart, Simulation

When = Callable[[float], str]

_DOES = {Effect.DENY: "denies it", Effect.ASK: "asks a person", Effect.ALLOW: "allows it"}


_APART = {
    Apart.PERSON: "by a person's own word",
    Apart.GRANT: "by what people have granted or approved",
    Apart.REPLY: "answers to requests",
    Apart.LIMIT: "by a limit, or by what the recipient takes",
    Apart.CLOSED: "a session was closed or paused",
    Apart.UNKNOWN: "a session that is unknown, or that the sender cannot see",
    Apart.FORM: "a request that made no sense",
}


def name_of(entry: Entry) -> str:
    return entry.rule if isinstance(entry, Grant) else entry.name


def reach_of(entry: Entry) -> str:
    """Whom it is about: `tag:office -> default/a, default/b: send, wake`."""
    return f"{_sides(entry)}: {', '.join(verb for verb in Verb if verb in entry.verbs)}"


def _sides(entry: Entry) -> str:
    if isinstance(entry, Grant):
        return f"{entry.sender} -> {entry.recipient}"
    return f"{', '.join(entry.senders)} -> {', '.join(entry.recipients)}"


def explanation(told: Explanation, when: When, notes: Sequence[str] = ()) -> Iterator[str]:
    """`notes` are of what is true beside rules and grants."""
    yield f"{told.decision.effect}: {told.verb} from {told.sender.id} to {told.recipient.id}"
    if told.decider is None:
        yield "  nothing matches it, and what nothing matches is denied"
        if told.crossing:
            profiles = f"from profile {profile_of(told.sender.id)} to profile {profile_of(told.recipient.id)}"
            yield f"  it goes {profiles}: only what names both of them matches, never *, tag:, kind: or project:"
    else:
        yield f"  {name_of(told.decider)} {_DOES[told.decider.effect]}: {_whole(told.decider, when)}"
    yield from (f"  {note}" for note in notes)
    if told.others:
        yield "without that, in this order:"
    for each in told.others:
        yield f"  {each.effect:<5}  {name_of(each)}: {_whole(each, when)}"
    if told.changes:
        yield "to allow it:" if len(told.changes) == 1 else "to allow it, all of this:"
    for each_change in told.changes:
        yield from (f"  {line}" for line in change(each_change, told))


def overview(told: Sequence[Explanation], notes: Sequence[Sequence[str]]) -> Iterator[str]:
    """A line a verb between the same two, and one for each thing that is noted of any of them."""
    yield f"{told[0].sender.id} -> {told[0].recipient.id}"
    for one in told:
        by = f"{name_of(one.decider)}: {_sides(one.decider)}" if one.decider else "nothing matches it"
        yield f"  {one.decision.effect:<5}  {one.verb:<12}  {by}"
    verbs: dict[str, list[str]] = defaultdict(list)
    for one, those in zip(told, notes, strict=True):
        for note in those:
            verbs[note].append(one.verb)
    yield from (f"  {', '.join(of)}: {note}" for note, of in verbs.items())


def change(made: Change, told: Explanation) -> Iterator[str]:
    match made.kind, made.entry, made.then:
        case Kind.ADD_RULE, _, Rule() as rule:
            yield f"add this rule{', which names both profiles' if told.crossing else ''}:"
            yield from _set_in(rule)
        case Kind.ADD_VERB, Rule() as rule, _:
            yield f"add {told.verb} to the verbs of {rule.name}{_for_all(rule)}"
            if made.alone:
                yield "or, for these two alone, add this rule:"
                yield from _set_in(made.alone)
        case Kind.ALLOW, Rule() as rule, _:
            yield f'write effect = "allow" in {rule.name}{_for_all(rule)}'
        case Kind.NARROW, Rule() as rule, Rule() as then:
            yield _narrowed(rule, then, told)
        case Kind.REMOVE, Rule() as rule, _:
            more = "" if is_of_two(rule) else ", or name in it only what it is still to deny"
            yield f"remove {rule.name}{more}"
        case _, Grant() as grant, _:
            yield f"revoke {grant.rule} of {grant.by}"


def findings(found: Sequence[Finding], rules: int, sessions: int) -> Iterator[str]:
    for one in found:
        yield f"{one.level}: {one.rule.name} {one.text}"
        yield f"  It says: {one.rule.effect} {reach_of(one.rule)}"
        yield f"  {one.remedy}"
    counts = Counter(one.level for one in found)
    of_levels = ", ".join(_counted(counts[level], level.value) for level in Level if counts[level])
    yield f"{_counted(rules, 'rule')}, {_counted(sessions, 'session')}: {of_levels or 'nothing is wrong'}"


def simulation(done: Simulation) -> Iterator[str]:
    yield f"{_counted(done.changed, 'decision')} would change, {done.same} would not"
    for shift in done.shifts:
        deed = f"{', '.join(shift.verbs)} from {shift.sender} to {shift.recipient}"
        yield f"{shift.count:>6}  {shift.old.effect} -> {shift.new.effect}  {deed}"
        yield f"        {shift.old.rule} -> {shift.new.rule}"
    if done.apart:
        yield "no matter of rules:"
    for reason, count in sorted(done.apart.items(), key=lambda item: -item[1]):
        yield f"{count:>6}  {_APART[reason]}"


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _narrowed(rule: Rule, then: Rule, told: Explanation) -> str:
    if then.senders != rule.senders:
        return f'take {told.sender.id} out of "from" in {rule.name}'
    if then.recipients != rule.recipients:
        return f'take {told.recipient.id} out of "to" in {rule.name}'
    return f"take {told.verb} out of the verbs of {rule.name}{_for_all(rule)}"


def _for_all(rule: Rule) -> str:
    return "" if is_of_two(rule) else ", for all that it matches"


def _whole(entry: Entry, when: When) -> str:
    if isinstance(entry, Rule):
        return reach_of(entry)
    end = "" if entry.expires_at is None else f", until {when(entry.expires_at)}"
    given = f"given by {entry.by} via {entry.via}, {when(entry.given_at)}{end}"
    return f"{reach_of(entry)} ({entry.scope}; {given})"


def _set_in(rule: Rule) -> Iterator[str]:
    return (f"    {line}" for line in written(rule).splitlines())
