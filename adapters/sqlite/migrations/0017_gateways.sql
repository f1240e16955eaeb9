-- Gateways that operators have paired: of the token of each its digest, never the token. Operators are asked about them.

ALTER TABLE approvals RENAME TO old_approvals;

CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    subject TEXT NOT NULL CHECK (
        subject = 'mail' OR subject = 'grant' OR subject = 'session' OR subject = 'pause' OR
        subject = 'gateway' OR subject = 'rules'
    ),
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

INSERT INTO approvals (
    id, subject, about, content, by, opened_at, expires_at, closed_at, decided_by, outcome, version
)
SELECT id, subject, about, content, by, opened_at, expires_at, closed_at, decided_by, outcome, version
FROM old_approvals;

DROP TABLE old_approvals;

CREATE UNIQUE INDEX approvals_open ON approvals (subject, about) WHERE closed_at IS NULL;
CREATE INDEX approvals_expiring ON approvals (expires_at) WHERE closed_at IS NULL AND expires_at IS NOT NULL;

CREATE TABLE gateways (
    id TEXT PRIMARY KEY,
    digest TEXT NOT NULL UNIQUE,
    paired_at REAL NOT NULL,
    paired_by TEXT NOT NULL,
    seen_at REAL,
    removed_at REAL,
    version INTEGER NOT NULL
) STRICT;
