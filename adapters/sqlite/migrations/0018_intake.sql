-- What comes along with a person's words, what an input is made of, and marks on people's own messages.

ALTER TABLE messages ADD COLUMN attachments TEXT NOT NULL DEFAULT '[]';
ALTER TABLE messages ADD COLUMN pieces TEXT NOT NULL DEFAULT '[]';

CREATE INDEX messages_attached ON messages (id) WHERE attachments <> '[]';

ALTER TABLE posts RENAME TO old_posts;

CREATE TABLE posts (
    id TEXT PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    place TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (
        kind = 'final' OR kind = 'handoff' OR kind = 'notice' OR kind = 'progress' OR kind = 'mark'
    ),
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
-- A mark has the receipt of a person's message: nothing was sent there.
CREATE INDEX posts_by_receipt ON posts (scheme, receipt, id) WHERE receipt IS NOT NULL AND kind <> 'mark';
