-- What people decide about agents: grants, what is asked of operators, what holds for all, and who did what.

CREATE TABLE grants (
    id TEXT PRIMARY KEY,
    sender TEXT NOT NULL,
    recipient TEXT NOT NULL,
    verbs TEXT NOT NULL,
    effect TEXT NOT NULL CHECK (effect = 'allow' OR effect = 'deny'),
    scope TEXT NOT NULL CHECK (scope = 'once' OR scope = 'conversation' OR scope = 'pair' OR scope = 'always'),
    by TEXT NOT NULL,
    via TEXT NOT NULL,
    given_at REAL NOT NULL,
    expires_at REAL,
    conversation TEXT,
    used_at REAL CHECK (used_at IS NULL OR scope = 'once'),
    revoked_at REAL,
    revoked_by TEXT,
    version INTEGER NOT NULL,
    CHECK ((revoked_at IS NULL) = (revoked_by IS NULL)),
    CHECK ((conversation IS NOT NULL) = (scope = 'conversation'))
) STRICT;

CREATE INDEX grants_live ON grants (id) WHERE used_at IS NULL AND revoked_at IS NULL;

CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    subject TEXT NOT NULL CHECK (subject = 'mail' OR subject = 'grant' OR subject = 'rules'),
    about TEXT NOT NULL,
    content TEXT NOT NULL,
    by TEXT NOT NULL,
    opened_at REAL NOT NULL,
    expires_at REAL,
    closed_at REAL,
    decided_by TEXT,
    outcome TEXT,
    version INTEGER NOT NULL,
    CHECK ((closed_at IS NULL) = (outcome IS NULL))
) STRICT;

CREATE UNIQUE INDEX approvals_open ON approvals (subject, about) WHERE closed_at IS NULL;
CREATE INDEX approvals_expiring ON approvals (expires_at) WHERE closed_at IS NULL AND expires_at IS NOT NULL;

CREATE TABLE regimes (
    id TEXT PRIMARY KEY,
    paused_at REAL,
    paused_by TEXT,
    accepted TEXT,
    version INTEGER NOT NULL,
    CHECK ((paused_at IS NULL) = (paused_by IS NULL))
) STRICT;

-- Append-only.
CREATE TABLE acts (
    id TEXT PRIMARY KEY,
    at REAL NOT NULL,
    act TEXT NOT NULL,
    by TEXT NOT NULL,
    origin TEXT NOT NULL CHECK (origin = 'user' OR origin = 'peer' OR origin = 'system'),
    via TEXT NOT NULL,
    subject TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;

CREATE TRIGGER acts_stay BEFORE UPDATE ON acts BEGIN
    SELECT RAISE(ABORT, 'acts are append-only');
END;

CREATE INDEX messages_held ON messages (id) WHERE state = 'held';

-- How many messages of a profile were admitted on a day since 1970.
CREATE TABLE quotas (
    profile TEXT NOT NULL,
    day INTEGER NOT NULL,
    sent INTEGER NOT NULL,
    PRIMARY KEY (day, profile)
) STRICT, WITHOUT ROWID;
