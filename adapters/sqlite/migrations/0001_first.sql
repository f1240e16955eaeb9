-- One column for each field of the core's dataclasses, under its name; tuples, records and dicts are JSON text.
-- Times are seconds since 1970. There are no foreign keys: the core commits whole changes, and what has outlived
-- its retention is removed table by table.

CREATE TABLE sessions (
    id TEXT PRIMARY KEY,
    title TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('chat', 'terminal', 'shell', 'cron', 'tool', 'gateway')),
    source TEXT NOT NULL CHECK (source IN ('file', 'runtime')),
    created_at REAL NOT NULL,
    agent TEXT,
    cwd TEXT,
    project TEXT,
    tags TEXT NOT NULL,
    accept_wake INTEGER NOT NULL CHECK (accept_wake IN (0, 1)),
    alias TEXT,
    rested INTEGER NOT NULL CHECK (rested IN (0, 1)),
    paused TEXT,
    closed_at REAL,
    last_seen REAL,
    version INTEGER NOT NULL
) STRICT;

CREATE TABLE bindings (
    place TEXT PRIMARY KEY,
    session TEXT,
    source TEXT NOT NULL CHECK (source IN ('file', 'runtime')),
    bound_at REAL NOT NULL,
    version INTEGER NOT NULL
) STRICT;

CREATE INDEX bindings_by_session ON bindings (session, bound_at, place) WHERE session IS NOT NULL;

CREATE TABLE messages (
    id TEXT PRIMARY KEY,
    sender TEXT NOT NULL,
    recipient TEXT NOT NULL,
    intent TEXT NOT NULL CHECK (intent IN ('request', 'inform', 'reply', 'input')),
    text TEXT NOT NULL,
    origin TEXT NOT NULL CHECK (origin IN ('user', 'peer', 'system')),
    wake INTEGER NOT NULL CHECK (wake IN (0, 1)),
    conversation TEXT NOT NULL,
    accepted_at REAL NOT NULL,
    queued_at REAL NOT NULL,
    due_at REAL NOT NULL,
    expires_at REAL NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('held', 'queued', 'leased', 'parked', 'settled')),
    outcome TEXT CHECK (outcome IN ('acked', 'failed', 'expired', 'refused', 'cancelled', 'dead')),
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
    attempts INTEGER NOT NULL,
    unread INTEGER NOT NULL,
    woken_at REAL,
    read_at REAL,
    settled_at REAL,
    version INTEGER NOT NULL,
    CHECK ((outcome IS NOT NULL) = (state = 'settled')),
    CHECK ((settled_at IS NOT NULL) = (state = 'settled'))
) STRICT;

-- The lane: people before peers, then as they first became queued.
CREATE INDEX messages_queued ON messages (recipient, origin <> 'user', queued_at, id) WHERE state = 'queued';
CREATE INDEX messages_due ON messages (due_at, recipient) WHERE state = 'queued';
CREATE INDEX messages_expiring ON messages (expires_at, id) WHERE state IN ('held', 'queued', 'parked');
-- Intent and origin make the index answer the room check by itself.
CREATE INDEX messages_inbox ON messages (recipient, accepted_at, id, intent, origin)
    WHERE state <> 'settled';
CREATE INDEX messages_leased ON messages (turn, queued_at, id) WHERE state = 'leased';
CREATE INDEX messages_read ON messages (recipient, settled_at) WHERE read_at IS NOT NULL;

CREATE TABLE requests (
    id TEXT PRIMARY KEY,
    asker TEXT NOT NULL,
    asked TEXT NOT NULL,
    opened_at REAL NOT NULL,
    expires_at REAL NOT NULL,
    state TEXT NOT NULL
        CHECK (state IN ('open', 'answered', 'no_reply', 'input_required', 'failed', 'expired', 'cancelled')),
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

CREATE INDEX requests_by_parent ON requests (parent, id) WHERE parent IS NOT NULL;
CREATE INDEX requests_open_of ON requests (asker, id) WHERE state = 'open';
CREATE INDEX requests_expiring ON requests (expires_at, id) WHERE state = 'open';
CREATE INDEX requests_open_to ON requests (asked, id) WHERE state = 'open';

CREATE TABLE turns (
    id TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    inputs TEXT NOT NULL,
    acts_for TEXT,
    conversation TEXT NOT NULL,
    started_at REAL NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('starting', 'running', 'completed', 'failed', 'cancelled', 'lost')),
    place TEXT,
    process TEXT,
    prompt_sent INTEGER NOT NULL CHECK (prompt_sent IN (0, 1)),
    tools_begun INTEGER NOT NULL CHECK (tools_begun IN (0, 1)),
    peer_read INTEGER NOT NULL CHECK (peer_read IN (0, 1)),
    ended_at REAL,
    stop_reason TEXT,
    failure TEXT,
    version INTEGER NOT NULL,
    CHECK ((ended_at IS NULL) = (state IN ('starting', 'running')))
) STRICT;

CREATE UNIQUE INDEX turns_live ON turns (session) WHERE state IN ('starting', 'running');
CREATE INDEX turns_by_session ON turns (session, id);

CREATE TABLE conversations (
    id TEXT PRIMARY KEY,
    first TEXT NOT NULL,
    place TEXT,
    budget INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    told INTEGER NOT NULL CHECK (told IN (0, 1)),
    version INTEGER NOT NULL
) STRICT;

CREATE TABLE pairs (
    a TEXT NOT NULL,
    b TEXT NOT NULL,
    recent TEXT NOT NULL,
    rest_until REAL NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (a, b)
) STRICT, WITHOUT ROWID;

CREATE TABLE posts (
    id TEXT PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    place TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('final', 'handoff', 'notice', 'progress')),
    text TEXT NOT NULL,
    created_at REAL NOT NULL,
    due_at REAL NOT NULL,
    buttons TEXT NOT NULL,
    message TEXT,
    session TEXT,
    state TEXT NOT NULL CHECK (state IN ('pending', 'sent', 'failed')),
    receipt TEXT,
    attempts INTEGER NOT NULL,
    error TEXT,
    version INTEGER NOT NULL,
    scheme TEXT NOT NULL AS (substr(place, 1, instr(place, ':') - 1)) VIRTUAL
) STRICT;

CREATE INDEX posts_pending ON posts (scheme, due_at) WHERE state = 'pending';
CREATE INDEX posts_due ON posts (due_at) WHERE state = 'pending';
CREATE INDEX posts_by_receipt ON posts (scheme, receipt, id) WHERE receipt IS NOT NULL;

CREATE TABLE updates (
    source TEXT NOT NULL,
    number INTEGER NOT NULL,
    raw TEXT NOT NULL,
    received_at REAL NOT NULL,
    handled_at REAL,
    error TEXT,
    version INTEGER NOT NULL,
    PRIMARY KEY (source, number)
) STRICT;

CREATE INDEX updates_unhandled ON updates (source, number) WHERE handled_at IS NULL AND error IS NULL;

CREATE TABLE keys (
    sender TEXT NOT NULL,
    key TEXT NOT NULL,
    body TEXT NOT NULL,
    message TEXT NOT NULL,
    PRIMARY KEY (sender, key)
) STRICT, WITHOUT ROWID;

-- Append-only.
CREATE TABLE verdicts (
    id TEXT PRIMARY KEY,
    at REAL NOT NULL,
    sender TEXT NOT NULL,
    recipient TEXT NOT NULL,
    origin TEXT NOT NULL CHECK (origin IN ('user', 'peer', 'system')),
    verbs TEXT NOT NULL,
    effect TEXT NOT NULL CHECK (effect IN ('allow', 'ask', 'deny')),
    rule TEXT NOT NULL,
    reason TEXT NOT NULL,
    code TEXT,
    message TEXT,
    cause TEXT,
    conversation TEXT,
    person TEXT
) STRICT;

CREATE INDEX verdicts_by_conversation ON verdicts (conversation) WHERE conversation IS NOT NULL;

CREATE TRIGGER verdicts_stay BEFORE UPDATE ON verdicts BEGIN
    SELECT RAISE(ABORT, 'verdicts are append-only');
END;

-- Append-only.
CREATE TABLE steps (
    id TEXT PRIMARY KEY,
    at REAL NOT NULL,
    step TEXT NOT NULL CHECK (
        step IN (
            'accepted', 'decision', 'held', 'leased', 'woken', 'turn', 'tool', 'read', 'reply', 'settled', 'sent'
        )
    ),
    session TEXT NOT NULL,
    message TEXT,
    conversation TEXT,
    cause TEXT,
    detail TEXT NOT NULL
) STRICT;

CREATE INDEX steps_by_message ON steps (message) WHERE message IS NOT NULL;
CREATE INDEX steps_by_conversation ON steps (conversation) WHERE conversation IS NOT NULL;
CREATE INDEX steps_by_cause ON steps (cause) WHERE cause IS NOT NULL;

CREATE TRIGGER steps_stay BEFORE UPDATE ON steps BEGIN
    SELECT RAISE(ABORT, 'steps are append-only');
END;
