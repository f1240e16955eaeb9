-- What the beginning of a post's key told, its kind tells: a reply to what a person has just said, or a question to people.

ALTER TABLE posts RENAME TO old_posts;

CREATE TABLE posts (
    id TEXT PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    place TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (
        kind = 'final' OR kind = 'handoff' OR kind = 'notice' OR kind = 'reply' OR kind = 'question'
        OR kind = 'progress' OR kind = 'mark'
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
    scheme TEXT NOT NULL AS (substr(place, 1, instr(place, ':') - 1)) VIRTUAL,
    markup TEXT,
    whole TEXT,
    file TEXT,
    reply_to TEXT,
    answers TEXT
) STRICT;

INSERT INTO posts (
    id, key, place, kind, text, created_at, due_at, buttons, message, session, state, receipt, attempts, error,
    version, markup, whole, file, reply_to, answers
)
SELECT
    id,
    key,
    place,
    CASE
        WHEN kind <> 'notice' THEN kind
        WHEN key LIKE 'reply:%' THEN 'reply'
        WHEN key LIKE 'question:%' OR buttons <> '[]' THEN 'question'
        ELSE 'notice'
    END,
    text,
    created_at,
    due_at,
    buttons,
    message,
    session,
    state,
    receipt,
    attempts,
    error,
    version,
    markup,
    whole,
    file,
    reply_to,
    answers
FROM old_posts;

DROP TABLE old_posts;

CREATE INDEX posts_pending ON posts (scheme, due_at) WHERE state = 'pending';
CREATE INDEX posts_due ON posts (due_at) WHERE state = 'pending';
-- A mark has the receipt of a person's message: nothing was sent there.
CREATE INDEX posts_by_receipt ON posts (scheme, receipt, id) WHERE receipt IS NOT NULL AND kind <> 'mark';
