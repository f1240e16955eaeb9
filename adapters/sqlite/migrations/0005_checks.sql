-- SQLite builds the table of an `IN (...)` with more than two words anew for each row, which costs as much as all the
-- rest of an insert: so the words stand one by one. And one index of what is unsettled answers every count, and every
-- list of who waits, where there were several.

ALTER TABLE messages RENAME TO old_messages;

CREATE TABLE messages (
    id TEXT PRIMARY KEY,
    sender TEXT NOT NULL,
    recipient TEXT NOT NULL,
    intent TEXT NOT NULL CHECK (
        intent = 'request' OR intent = 'inform' OR intent = 'reply' OR intent = 'input'
    ),
    text TEXT NOT NULL,
    origin TEXT NOT NULL CHECK (origin = 'user' OR origin = 'peer' OR origin = 'system'),
    wake INTEGER NOT NULL CHECK (wake IN (0, 1)),
    conversation TEXT NOT NULL,
    accepted_at REAL NOT NULL,
    queued_at REAL NOT NULL,
    due_at REAL NOT NULL,
    expires_at REAL NOT NULL,
    state TEXT NOT NULL CHECK (
        state = 'held' OR state = 'queued' OR state = 'leased' OR state = 'parked' OR state = 'settled'
    ),
    outcome TEXT CHECK (
        outcome = 'acked' OR outcome = 'failed' OR outcome = 'expired' OR outcome = 'refused'
        OR outcome = 'cancelled' OR outcome = 'dead'
    ),
    reason TEXT,
    in_reply_to TEXT,
    cause TEXT,
    depth INTEGER NOT NULL,
    path TEXT NOT NULL,
    place TEXT,
    person TEXT,
    by_command INTEGER NOT NULL CHECK (by_command IN (0, 1)),
    late INTEGER NOT NULL CHECK (late IN (0, 1)),
    turn TEXT,
    epoch INTEGER NOT NULL,
    leased_until REAL CHECK (leased_until IS NULL OR state = 'leased'),
    attempts INTEGER NOT NULL,
    unread INTEGER NOT NULL,
    woken_at REAL,
    read_at REAL,
    settled_at REAL,
    version INTEGER NOT NULL,
    CHECK ((outcome IS NOT NULL) = (state = 'settled')),
    CHECK ((settled_at IS NOT NULL) = (state = 'settled'))
) STRICT;

INSERT INTO messages (
    id, sender, recipient, intent, text, origin, wake, conversation, accepted_at, queued_at, due_at, expires_at,
    state, outcome, reason, in_reply_to, cause, depth, path, place, person, by_command, late, turn, epoch,
    leased_until, attempts, unread, woken_at, read_at, settled_at, version
)
SELECT
    id, sender, recipient, intent, text, origin, wake, conversation, accepted_at, queued_at, due_at, expires_at,
    state, outcome, reason, in_reply_to, cause, depth, path, place, person, by_command, late, turn, epoch,
    leased_until, attempts, unread, woken_at, read_at, settled_at, version
FROM old_messages;

DROP TABLE old_messages;

CREATE INDEX messages_unsettled ON messages (recipient, state, queued_at, due_at, intent, origin)
    WHERE state <> 'settled';
-- What was put off. All else is due from the first.
CREATE INDEX messages_due ON messages (due_at) WHERE state = 'queued' AND due_at > queued_at;
CREATE INDEX messages_expiring ON messages (expires_at) WHERE state <> 'settled' AND state <> 'leased';
CREATE INDEX messages_leased ON messages (turn) WHERE state = 'leased';
CREATE INDEX messages_lapsing ON messages (leased_until) WHERE leased_until IS NOT NULL;
CREATE INDEX messages_read ON messages (recipient, settled_at) WHERE state = 'settled' AND read_at IS NOT NULL;

ALTER TABLE requests RENAME TO old_requests;

CREATE TABLE requests (
    id TEXT PRIMARY KEY,
    asker TEXT NOT NULL,
    asked TEXT NOT NULL,
    opened_at REAL NOT NULL,
    expires_at REAL NOT NULL,
    state TEXT NOT NULL CHECK (
        state = 'open' OR state = 'answered' OR state = 'no_reply' OR state = 'input_required'
        OR state = 'failed' OR state = 'expired' OR state = 'cancelled'
    ),
    parent TEXT,
    place TEXT,
    by_command INTEGER NOT NULL CHECK (by_command IN (0, 1)),
    deferred INTEGER NOT NULL CHECK (deferred IN (0, 1)),
    closing TEXT,
    late TEXT,
    closed_at REAL,
    reason TEXT,
    version INTEGER NOT NULL,
    CHECK ((closed_at IS NULL) = (state = 'open'))
) STRICT;

INSERT INTO requests (
    id, asker, asked, opened_at, expires_at, state, parent, place, by_command, deferred, closing, late,
    closed_at, reason, version
)
SELECT
    id, asker, asked, opened_at, expires_at, state, parent, place, by_command, deferred, closing, late,
    closed_at, reason, version
FROM old_requests;

DROP TABLE old_requests;

CREATE INDEX requests_by_parent ON requests (parent) WHERE parent IS NOT NULL;
CREATE INDEX requests_open_of ON requests (asker) WHERE state = 'open';
CREATE INDEX requests_open_to ON requests (asked) WHERE state = 'open';
CREATE INDEX requests_expiring ON requests (expires_at) WHERE state = 'open';

ALTER TABLE turns RENAME TO old_turns;

CREATE TABLE turns (
    id TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    inputs TEXT NOT NULL,
    acts_for TEXT,
    conversation TEXT NOT NULL,
    started_at REAL NOT NULL,
    node TEXT NOT NULL,
    leased_until REAL NOT NULL,
    epoch INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (
        state = 'starting' OR state = 'running' OR state = 'completed' OR state = 'failed'
        OR state = 'cancelled' OR state = 'lost'
    ),
    place TEXT,
    process TEXT,
    prompt_sent INTEGER NOT NULL CHECK (prompt_sent IN (0, 1)),
    tools_begun INTEGER NOT NULL CHECK (tools_begun IN (0, 1)),
    peer_read INTEGER NOT NULL CHECK (peer_read IN (0, 1)),
    prompt TEXT,
    occurrence INTEGER NOT NULL,
    ended_at REAL,
    stop_reason TEXT,
    failure TEXT,
    version INTEGER NOT NULL,
    CHECK ((ended_at IS NULL) = (state IN ('starting', 'running')))
) STRICT;

INSERT INTO turns (
    id, session, inputs, acts_for, conversation, started_at, node, leased_until, epoch, state, place, process,
    prompt_sent, tools_begun, peer_read, prompt, occurrence, ended_at, stop_reason, failure, version
)
SELECT
    id, session, inputs, acts_for, conversation, started_at, node, leased_until, epoch, state, place, process,
    prompt_sent, tools_begun, peer_read, prompt, occurrence, ended_at, stop_reason, failure, version
FROM old_turns;

DROP TABLE old_turns;

CREATE UNIQUE INDEX turns_live ON turns (session) WHERE state IN ('starting', 'running');
CREATE INDEX turns_by_session ON turns (session, id);
CREATE INDEX turns_leased ON turns (leased_until) WHERE state IN ('starting', 'running');

ALTER TABLE posts RENAME TO old_posts;

CREATE TABLE posts (
    id TEXT PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    place TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind = 'final' OR kind = 'handoff' OR kind = 'notice' OR kind = 'progress'),
    text TEXT NOT NULL,
    created_at REAL NOT NULL,
    due_at REAL NOT NULL,
    buttons TEXT NOT NULL,
    message TEXT,
    session TEXT,
    state TEXT NOT NULL CHECK (state = 'pending' OR state = 'sent' OR state = 'failed'),
    receipt TEXT,
    attempts INTEGER NOT NULL,
    error TEXT,
    version INTEGER NOT NULL,
    scheme TEXT NOT NULL AS (substr(place, 1, instr(place, ':') - 1)) VIRTUAL
) STRICT;

INSERT INTO posts (
    id, key, place, kind, text, created_at, due_at, buttons, message, session, state, receipt, attempts, error,
    version
)
SELECT
    id, key, place, kind, text, created_at, due_at, buttons, message, session, state, receipt, attempts, error,
    version
FROM old_posts;

DROP TABLE old_posts;

CREATE INDEX posts_pending ON posts (scheme, due_at) WHERE state = 'pending';
CREATE INDEX posts_due ON posts (due_at) WHERE state = 'pending';
CREATE INDEX posts_by_receipt ON posts (scheme, receipt, id) WHERE receipt IS NOT NULL;

-- Append-only.
ALTER TABLE verdicts RENAME TO old_verdicts;

CREATE TABLE verdicts (
    id TEXT PRIMARY KEY,
    at REAL NOT NULL,
    sender TEXT NOT NULL,
    recipient TEXT NOT NULL,
    origin TEXT NOT NULL CHECK (origin = 'user' OR origin = 'peer' OR origin = 'system'),
    verbs TEXT NOT NULL,
    effect TEXT NOT NULL CHECK (effect = 'allow' OR effect = 'ask' OR effect = 'deny'),
    rule TEXT NOT NULL,
    reason TEXT NOT NULL,
    code TEXT,
    message TEXT,
    cause TEXT,
    conversation TEXT,
    person TEXT
) STRICT;

INSERT INTO verdicts (
    id, at, sender, recipient, origin, verbs, effect, rule, reason, code, message, cause, conversation, person
)
SELECT
    id, at, sender, recipient, origin, verbs, effect, rule, reason, code, message, cause, conversation, person
FROM old_verdicts;

DROP TABLE old_verdicts;

CREATE INDEX verdicts_by_conversation ON verdicts (conversation) WHERE conversation IS NOT NULL;

CREATE TRIGGER verdicts_stay BEFORE UPDATE ON verdicts BEGIN
    SELECT RAISE(ABORT, 'verdicts are append-only');
END;

-- Append-only.
ALTER TABLE steps RENAME TO old_steps;

CREATE TABLE steps (
    id TEXT PRIMARY KEY,
    at REAL NOT NULL,
    step TEXT NOT NULL CHECK (
        step = 'accepted' OR step = 'decision' OR step = 'held' OR step = 'leased' OR step = 'woken'
        OR step = 'turn' OR step = 'tool' OR step = 'read' OR step = 'reply' OR step = 'settled'
        OR step = 'sent'
    ),
    session TEXT NOT NULL,
    message TEXT,
    conversation TEXT,
    cause TEXT,
    detail TEXT NOT NULL
) STRICT;

INSERT INTO steps (
    id, at, step, session, message, conversation, cause, detail
)
SELECT
    id, at, step, session, message, conversation, cause, detail
FROM old_steps;

DROP TABLE old_steps;

CREATE INDEX steps_by_message ON steps (message) WHERE message IS NOT NULL;
CREATE INDEX steps_by_conversation ON steps (conversation) WHERE conversation IS NOT NULL;
CREATE INDEX steps_by_cause ON steps (cause) WHERE cause IS NOT NULL;

CREATE TRIGGER steps_stay BEFORE UPDATE ON steps BEGIN
    SELECT RAISE(ABORT, 'steps are append-only');
END;
