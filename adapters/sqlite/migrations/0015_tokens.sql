-- The capability tokens that people have made: of each its digest, never the token.

CREATE TABLE tokens (
    id TEXT PRIMARY KEY,
    session TEXT NOT NULL,
    name TEXT NOT NULL,
    digest TEXT NOT NULL UNIQUE,
    by TEXT NOT NULL,
    via TEXT NOT NULL,
    made_at REAL NOT NULL,
    used_at REAL,
    revoked_at REAL,
    revoked_by TEXT,
    version INTEGER NOT NULL,
    CHECK ((revoked_at IS NULL) = (revoked_by IS NULL))
) STRICT;

CREATE UNIQUE INDEX tokens_held ON tokens (session, name) WHERE revoked_at IS NULL;
