-- What the store reads. No query but `sessions`, `bindings`, `grants` and `all_tokens` looks through a table. A query repeats the
-- condition of a partial index, for else SQLite does not see that it may use it.

-- name: session
SELECT * FROM sessions WHERE id = :session;

-- name: sessions
SELECT * FROM sessions ORDER BY id;

-- name: children
SELECT * FROM sessions WHERE parent = :parent AND parent IS NOT NULL AND closed_at IS NULL ORDER BY id;

-- name: all_children
SELECT * FROM sessions INDEXED BY sessions_children WHERE parent IS NOT NULL AND closed_at IS NULL ORDER BY id;

-- name: binding
SELECT * FROM bindings WHERE place = :place;

-- name: bindings
SELECT * FROM bindings ORDER BY place;

-- name: moves
SELECT * FROM moves ORDER BY old;

-- name: places
SELECT * FROM bindings WHERE session = :session ORDER BY bound_at, place;

-- name: message
SELECT * FROM messages WHERE id = :message;

-- name: mail
SELECT * FROM messages WHERE id = :message
    AND (sender = :session OR (recipient = :session AND state <> 'held' AND outcome IS NOT 'refused'));

-- name: key
SELECT * FROM keys WHERE sender = :sender AND key = :key;

-- name: queue
SELECT * FROM messages
WHERE recipient = :session AND state <> 'settled' AND state = 'queued'
ORDER BY origin <> 'user', queued_at, id;

-- name: inbox
SELECT * FROM messages
WHERE recipient = :session AND state <> 'settled' AND intent <> 'input'
ORDER BY accepted_at, id;

-- name: taken
SELECT * FROM messages WHERE turn = :turn AND settled_at IS NULL AND state = 'leased' ORDER BY queued_at, id;

-- name: read_in
SELECT * FROM messages
WHERE turn = :turn AND read_at IS NOT NULL AND (state = 'leased' OR state = 'settled')
ORDER BY read_at, id;

-- name: read_by
WITH readers (turn) AS (
    SELECT :receiver
    UNION ALL
    SELECT id FROM turns
    WHERE
        session = :session
        AND id > coalesce(
            (
                SELECT id FROM turns
                WHERE session = :session AND ended_at < :since
                ORDER BY id DESC
                LIMIT 1
            ),
            ''
        )
)

SELECT messages.* FROM readers
CROSS JOIN messages ON messages.turn = readers.turn
WHERE
    read_at IS NOT NULL
    AND ((settled_at IS NULL AND state = 'leased') OR (state = 'settled' AND settled_at >= :since))
ORDER BY read_at, id;

-- name: waiting_sessions
SELECT DISTINCT recipient FROM messages
WHERE state <> 'settled' AND state = 'queued' AND wake
ORDER BY recipient;

-- name: ended_lives
SELECT * FROM messages
WHERE state <> 'settled' AND state <> 'leased' AND expires_at <= :now
ORDER BY expires_at, id
LIMIT :limit;

-- name: lapsed_leases
SELECT * FROM messages
WHERE state = 'leased' AND leased_until <= :now
ORDER BY leased_until, id
LIMIT :limit;

-- name: next_due
SELECT min(at) FROM (
    SELECT min(due_at) AS at FROM messages
    WHERE state = 'queued' AND due_at > queued_at AND due_at > :after
    UNION ALL
    SELECT min(expires_at) FROM messages
    WHERE state <> 'settled' AND state <> 'leased' AND expires_at > :after
    UNION ALL
    SELECT min(due_at) FROM posts WHERE state = 'pending' AND due_at > :after
    UNION ALL
    SELECT min(expires_at) FROM requests WHERE state = 'open' AND expires_at > :after
    UNION ALL
    SELECT min(leased_until) FROM messages WHERE state = 'leased' AND leased_until > :after
    UNION ALL
    SELECT min(expires_at) FROM approvals
    WHERE closed_at IS NULL AND expires_at IS NOT NULL AND expires_at > :after
    UNION ALL
    SELECT min(leased_until) FROM turns WHERE state IN ('starting', 'running') AND leased_until > :after
);

-- name: due_sessions
SELECT DISTINCT recipient FROM messages
WHERE state <> 'settled' AND state = 'queued' AND wake AND due_at <= :now
ORDER BY recipient;

-- name: unsettled_of
SELECT * FROM messages WHERE recipient = :session AND state <> 'settled' ORDER BY accepted_at, id;

-- name: inbox_size
SELECT count(*) FROM messages
WHERE
    recipient = :session AND state <> 'settled' AND state <> 'held'
    AND intent IN ('request', 'inform') AND origin <> 'system';

-- name: unsettled
SELECT recipient, count(*) FROM messages
WHERE state <> 'settled' AND state <> 'held' AND intent <> 'input'
GROUP BY recipient;

-- name: queued
SELECT count(*), min(queued_at) FROM messages WHERE state <> 'settled' AND state = 'queued';

-- name: request
SELECT * FROM requests WHERE id = :message;

-- name: requests_for
SELECT * FROM requests WHERE parent = :parent ORDER BY id;

-- name: open_requests_of
SELECT * FROM requests WHERE asker = :asker AND state = 'open' ORDER BY id;

-- name: open_requests_to
SELECT * FROM requests WHERE asked = :asked AND state = 'open' ORDER BY id;

-- name: overdue_requests
SELECT requests.* FROM requests INDEXED BY requests_expiring
JOIN messages ON messages.id = requests.id
WHERE requests.state = 'open' AND requests.expires_at <= :now AND messages.state = 'settled'
ORDER BY requests.id
LIMIT :limit;

-- name: open_request_count
SELECT count(*) FROM requests WHERE asker = :asker AND state = 'open';

-- name: turn
SELECT * FROM turns WHERE id = :turn;

-- name: live_turn
SELECT * FROM turns WHERE session = :session AND state IN ('starting', 'running');

-- name: live_turns
SELECT * FROM turns INDEXED BY turns_live WHERE state IN ('starting', 'running') ORDER BY id;

-- name: lapsed_turns
SELECT * FROM turns WHERE state IN ('starting', 'running') AND leased_until <= :now
ORDER BY leased_until, id;

-- name: last_turns
SELECT turns.* FROM sessions
JOIN turns ON turns.id IN (
    (SELECT own.id FROM turns AS own WHERE own.session = sessions.id AND own.state IN ('starting', 'running')),
    (
        SELECT own.id FROM turns AS own
        WHERE own.session = sessions.id AND own.process IS NOT NULL
        ORDER BY own.id DESC
        LIMIT 1
    )
)
ORDER BY turns.id;

-- name: conversation
SELECT * FROM conversations WHERE id = :conversation;

-- name: pair
SELECT * FROM pairs WHERE a = :a AND b = :b;

-- name: sent_on
SELECT sent FROM quotas WHERE profile = :profile AND day = :day;

-- name: post
SELECT * FROM posts WHERE key = :key;

-- name: pending_posts
SELECT * FROM posts
WHERE scheme = :scheme AND state = 'pending'
ORDER BY kind <> 'final', created_at, id;

-- name: foremost_posts
-- What it parts them by is no coarser than their urgency.
SELECT * FROM posts
WHERE id IN (
    SELECT id
    FROM (
        SELECT
            id,
            kind,
            receipt,
            row_number() OVER (
                PARTITION BY place, kind, receipt IS NULL, buttons
                ORDER BY created_at, id
            ) AS nth
        FROM posts
        WHERE scheme = :scheme AND state = 'pending'
    )
    WHERE nth = 1 OR (kind = 'handoff' AND receipt IS NULL)
)
ORDER BY kind <> 'final', created_at, id;

-- name: sent_post
SELECT * FROM posts
WHERE scheme = :scheme AND receipt = :receipt AND kind <> 'mark'
ORDER BY id DESC
LIMIT 1;

-- name: attached
SELECT DISTINCT json_extract(attached.value, '$.path')
FROM messages, json_each(messages.attachments) AS attached
WHERE messages.attachments <> '[]' AND json_extract(attached.value, '$.path') IS NOT NULL;

-- name: unhandled
SELECT * FROM updates WHERE source = :source AND handled_at IS NULL AND error IS NULL ORDER BY number;

-- name: updates
SELECT * FROM updates
WHERE source = :source AND number IN (SELECT value FROM json_each(:numbers))
ORDER BY number;

-- name: last_update
SELECT max(number) FROM updates WHERE source = :source;

-- name: notes
SELECT * FROM notes WHERE source = :source ORDER BY key;

-- name: verdicts
SELECT * FROM verdicts WHERE conversation = :conversation ORDER BY at, id;

-- name: steps
SELECT steps.* FROM steps LEFT JOIN messages ON messages.id = steps.message
WHERE (steps.message = :of OR steps.cause = :of OR steps.conversation = :of)
    AND CASE
        WHEN messages.id IS NULL THEN steps.session GLOB :whose
        ELSE messages.sender GLOB :whose OR (
            messages.recipient GLOB :whose
            AND (:withheld OR (messages.state <> 'held' AND messages.outcome IS NOT 'refused'))
        )
    END
ORDER BY steps.at, steps.id;

-- name: recent_verdicts
SELECT * FROM verdicts WHERE id < :before ORDER BY id DESC LIMIT :limit;

-- name: recent_acts
SELECT * FROM acts WHERE id < :before ORDER BY id DESC LIMIT :limit;

-- name: regime
SELECT * FROM regimes WHERE id = 'regime';

-- name: grant
SELECT * FROM grants WHERE id = :grant;

-- name: grants
SELECT * FROM grants ORDER BY id;

-- name: gateway
SELECT * FROM gateways WHERE id = :name;

-- name: gateways
SELECT * FROM gateways ORDER BY id;

-- name: live_grants
SELECT * FROM grants
WHERE used_at IS NULL AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :now)
ORDER BY id;

-- name: approval
SELECT * FROM approvals WHERE id = :approval;

-- name: open_approval
SELECT * FROM approvals WHERE subject = :subject AND about = :about AND closed_at IS NULL;

-- name: open_approvals
SELECT * FROM approvals INDEXED BY approvals_open WHERE closed_at IS NULL ORDER BY id;

-- name: ended_approvals
SELECT * FROM approvals
WHERE closed_at IS NULL AND expires_at IS NOT NULL AND expires_at <= :now
ORDER BY id
LIMIT :limit;

-- name: held
SELECT * FROM messages WHERE state = 'held' ORDER BY id;

-- name: tokens
SELECT * FROM tokens WHERE session = :session AND revoked_at IS NULL ORDER BY name;

-- name: all_tokens
SELECT * FROM tokens WHERE revoked_at IS NULL ORDER BY session, name;

-- Of whoever examines the file.

-- name: newest
SELECT max(at) FROM (
    SELECT at FROM steps WHERE id = (SELECT max(id) FROM steps)
    UNION ALL
    SELECT accepted_at FROM messages WHERE id = (SELECT max(id) FROM messages)
);

-- name: overdue
SELECT count(*) FROM messages WHERE id < :first_id AND state = 'settled' AND settled_at <= :before;
