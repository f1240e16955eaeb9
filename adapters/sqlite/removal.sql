-- What retention removes, each in the order of its age. Ids are made in the order of time, so the primary key finds
-- what is old, and :first_id is less than every id made since :before.

-- name: remove_messages
DELETE FROM messages
WHERE id IN (
    SELECT old.id FROM messages AS old
    WHERE
        old.id < :first_id AND old.state = 'settled' AND old.settled_at <= :before
        AND NOT EXISTS (SELECT 1 FROM turns WHERE turns.id = old.turn AND turns.ended_at IS NULL)
        AND NOT EXISTS (SELECT 1 FROM requests WHERE requests.parent = old.id AND requests.state = 'open')
        AND NOT EXISTS (
            SELECT 1 FROM requests AS own
            LEFT JOIN messages AS reply ON reply.id IN (own.closing, own.late)
            WHERE
                own.id = old.id
                AND (coalesce(own.closed_at > :before, true) OR coalesce(reply.settled_at > :before, reply.id IS NOT NULL))
        )
    ORDER BY old.id
    LIMIT :limit
);

-- name: remove_requests
DELETE FROM requests
WHERE id IN (
    SELECT old.id FROM requests AS old
    WHERE
        old.id < :first_id AND old.closed_at <= :before
        AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.id = old.id)
    ORDER BY old.id
    LIMIT :limit
);

-- name: remove_turns
DELETE FROM turns
WHERE id IN (
    SELECT old.id FROM turns AS old
    WHERE
        old.id < :first_id AND old.ended_at <= :before
        AND old.id < (SELECT max(newest.id) FROM turns AS newest WHERE newest.session = old.session)
    ORDER BY old.id
    LIMIT :limit
);

-- name: remove_posts
DELETE FROM posts
WHERE id IN (
    SELECT old.id FROM posts AS old
    WHERE
        old.id < :first_id AND old.state <> 'pending' AND old.due_at <= :before
        AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.id = old.message)
    ORDER BY old.id
    LIMIT :limit
);

-- name: remove_updates
DELETE FROM updates
WHERE rowid IN (
    SELECT old.rowid FROM updates AS old
    WHERE
        old.received_at <= :before AND (old.handled_at IS NOT NULL OR old.error IS NOT NULL)
        AND old.number < (SELECT max(last.number) FROM updates AS last WHERE last.source = old.source)
    ORDER BY old.received_at
    LIMIT :limit
);

-- name: remove_steps
DELETE FROM steps
WHERE id IN (
    SELECT old.id FROM steps AS old
    WHERE
        old.id < :first_id AND old.at <= :before
        AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.id = old.message)
    ORDER BY old.id
    LIMIT :limit
);

-- name: remove_verdicts
DELETE FROM verdicts
WHERE id IN (
    SELECT old.id FROM verdicts AS old
    WHERE
        old.id < :first_id AND old.at <= :before
        AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.id = old.message)
    ORDER BY old.id
    LIMIT :limit
);

-- name: remove_conversations
DELETE FROM conversations
WHERE id IN (
    SELECT old.id FROM conversations AS old
    WHERE old.id < :first_id AND NOT EXISTS (SELECT 1 FROM steps WHERE steps.conversation = old.id)
    ORDER BY old.id
    LIMIT :limit
);

-- name: remove_keys
DELETE FROM keys
WHERE (sender, key) IN (
    SELECT old.sender, old.key FROM keys AS old
    WHERE
        old.message < :first_key
        AND NOT EXISTS (SELECT 1 FROM messages WHERE messages.id = old.message)
    ORDER BY old.message
    LIMIT :limit
);

-- A few pairs at a time, for nothing leads to those without traffic but looking at each.
-- name: next_pairs
SELECT a, b FROM pairs WHERE (a, b) > (:a, :b) ORDER BY a, b LIMIT :limit;

-- name: remove_pair
DELETE FROM pairs
WHERE a = :a AND b = :b AND rest_until <= :before AND coalesce(json_extract(recent, '$[#-1]'), 0) <= :before;
