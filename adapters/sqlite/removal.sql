-- What retention looks at, a stretch of each kind at a time: `next_…` tells how far the stretch reaches, and `remove_…`
-- removes what of it nothing needs. Ids are made in the order of time, so the primary key leads through what is old.

-- name: next_messages
SELECT max(id), count(*) FROM (SELECT id FROM messages WHERE id > :after AND id <= :until ORDER BY id LIMIT :limit);

-- name: remove_messages
DELETE FROM messages
WHERE
    id > :after AND id <= :last AND state = 'settled' AND settled_at <= :before
    AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.id = messages.turn AND turns.ended_at IS NULL)
    AND NOT EXISTS (SELECT 1 FROM requests WHERE requests.parent = messages.id AND requests.state = 'open')
    AND NOT EXISTS (
        SELECT 1 FROM requests AS own
        LEFT JOIN messages AS reply ON reply.id IN (own.closing, own.late)
        WHERE
            own.id = messages.id
            AND (coalesce(own.closed_at > :before, true) OR coalesce(reply.settled_at > :before, reply.id IS NOT NULL))
    );

-- name: next_requests
SELECT max(id), count(*) FROM (SELECT id FROM requests WHERE id > :after AND id <= :until ORDER BY id LIMIT :limit);

-- name: remove_requests
DELETE FROM requests
WHERE
    id > :after AND id <= :last AND closed_at <= :before
    AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.id = requests.id);

-- name: next_turns
SELECT max(id), count(*) FROM (SELECT id FROM turns WHERE id > :after AND id <= :until ORDER BY id LIMIT :limit);

-- name: remove_turns
DELETE FROM turns
WHERE
    id > :after AND id <= :last AND ended_at <= :before
    AND (
        id < (SELECT max(newest.id) FROM turns AS newest WHERE newest.session = turns.session)
        OR EXISTS (
            SELECT 1 FROM sessions
            WHERE sessions.id = turns.session AND sessions.parent IS NOT NULL AND sessions.closed_at IS NOT NULL
        )
    );

-- name: next_posts
SELECT max(id), count(*) FROM (SELECT id FROM posts WHERE id > :after AND id <= :until ORDER BY id LIMIT :limit);

-- name: remove_posts
DELETE FROM posts
WHERE
    id > :after AND id <= :last AND state <> 'pending' AND due_at <= :before
    AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.id = posts.message);

-- name: next_updates
SELECT max(received_at), count(*) FROM (
    SELECT received_at FROM updates
    WHERE received_at > :after AND received_at <= :until
    ORDER BY received_at
    LIMIT :limit
);

-- name: remove_updates
DELETE FROM updates
WHERE
    received_at > :after AND received_at <= :last AND (handled_at IS NOT NULL OR error IS NOT NULL)
    AND number < (SELECT max(newest.number) FROM updates AS newest WHERE newest.source = updates.source);

-- name: next_steps
SELECT max(id), count(*) FROM (SELECT id FROM steps WHERE id > :after AND id <= :until ORDER BY id LIMIT :limit);

-- name: remove_steps
DELETE FROM steps
WHERE
    id > :after AND id <= :last AND at <= :before
    AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.id = steps.message);

-- name: next_verdicts
SELECT max(id), count(*) FROM (SELECT id FROM verdicts WHERE id > :after AND id <= :until ORDER BY id LIMIT :limit);

-- name: remove_verdicts
DELETE FROM verdicts
WHERE
    id > :after AND id <= :last AND at <= :before
    AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.id = verdicts.message);

-- name: next_conversations
SELECT max(id), count(*) FROM (
    SELECT id FROM conversations WHERE id > :after AND id <= :until ORDER BY id LIMIT :limit
);

-- name: remove_conversations
DELETE FROM conversations
WHERE
    id > :after AND id <= :last
    AND NOT EXISTS (SELECT 1 FROM steps WHERE steps.conversation = conversations.id);

-- name: next_keys
SELECT max(message), count(*) FROM (
    SELECT message FROM keys WHERE message > :after AND message <= :until ORDER BY message LIMIT :limit
);

-- name: remove_keys
DELETE FROM keys
WHERE
    message > :after AND message <= :last
    AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.id = keys.message);

-- name: next_pairs
SELECT max(a), count(*) FROM (SELECT a FROM pairs WHERE a > :after AND a <= :until ORDER BY a LIMIT :limit);

-- name: remove_pairs
DELETE FROM pairs
WHERE
    a > :after AND a <= :last AND rest_until <= :before
    AND coalesce(json_extract(recent, '$[#-1]'), 0) <= :before;

-- name: next_grants
SELECT max(id), count(*) FROM (SELECT id FROM grants WHERE id > :after AND id <= :until ORDER BY id LIMIT :limit);

-- name: remove_grants
DELETE FROM grants
WHERE id > :after AND id <= :last AND (used_at <= :before OR revoked_at <= :before OR expires_at <= :before);

-- name: next_approvals
SELECT max(id), count(*) FROM (SELECT id FROM approvals WHERE id > :after AND id <= :until ORDER BY id LIMIT :limit);

-- name: remove_approvals
DELETE FROM approvals WHERE id > :after AND id <= :last AND closed_at <= :before;

-- name: next_tokens
SELECT max(id), count(*) FROM (SELECT id FROM tokens WHERE id > :after AND id <= :until ORDER BY id LIMIT :limit);

-- name: remove_tokens
DELETE FROM tokens WHERE id > :after AND id <= :last AND revoked_at <= :before;

-- name: next_acts
SELECT max(id), count(*) FROM (SELECT id FROM acts WHERE id > :after AND id <= :until ORDER BY id LIMIT :limit);

-- name: remove_acts
DELETE FROM acts WHERE id > :after AND id <= :last AND at <= :before;

-- name: next_quotas
SELECT max(day), count(*) FROM (SELECT day FROM quotas WHERE day > :after AND day <= :until ORDER BY day LIMIT :limit);

-- name: remove_quotas
DELETE FROM quotas WHERE day > :after AND day <= :last AND (day + 1) * 86400.0 <= :before;

-- name: next_sessions
SELECT max(id), count(*) FROM (SELECT id FROM sessions WHERE id > :after AND id <= :until ORDER BY id LIMIT :limit);

-- name: remove_sessions
DELETE FROM sessions
WHERE
    id > :after AND id <= :last AND parent IS NOT NULL AND closed_at <= :before
    AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.session = sessions.id);
