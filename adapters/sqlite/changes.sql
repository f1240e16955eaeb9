-- What a change writes. An insert is of an entity that must not exist yet; an update hits its row only while that
-- still has the version on which the change was planned.

-- name: insert_session
INSERT INTO sessions (
    id, title, kind, source, created_at, agent, cwd, project, tags, accept_wake, busy, inbox_limit, max_chars,
    reply_wake, peer_tools, peer_mode, hidden, quiet, timezone, alias, rested, paused, closed_at, last_seen, frozen,
    creation, answering, standbys, parent, spawned_in, caps, joined, prompted_at, version
)
VALUES (
    :id, :title, :kind, :source, :created_at, :agent, :cwd, :project, :tags, :accept_wake, :busy, :inbox_limit,
    :max_chars, :reply_wake, :peer_tools, :peer_mode, :hidden, :quiet, :timezone, :alias, :rested, :paused,
    :closed_at, :last_seen, :frozen, :creation, :answering, :standbys, :parent, :spawned_in, :caps, :joined,
    :prompted_at, :version + 1
);

-- name: update_session
UPDATE sessions
SET
    title = :title, kind = :kind, source = :source, created_at = :created_at, agent = :agent, cwd = :cwd,
    project = :project, tags = :tags, accept_wake = :accept_wake, busy = :busy, inbox_limit = :inbox_limit,
    max_chars = :max_chars, reply_wake = :reply_wake, peer_tools = :peer_tools, peer_mode = :peer_mode,
    hidden = :hidden, quiet = :quiet, timezone = :timezone, alias = :alias, rested = :rested,
    paused = :paused, closed_at = :closed_at, last_seen = :last_seen, frozen = :frozen, creation = :creation,
    answering = :answering, standbys = :standbys, parent = :parent, spawned_in = :spawned_in, caps = :caps,
    joined = :joined, prompted_at = :prompted_at, version = version + 1
WHERE id = :id AND version = :version;

-- name: version_of_session
SELECT version FROM sessions WHERE id = :id;

-- name: insert_binding
INSERT INTO bindings (place, session, source, bound_at, topic, gone_at, version)
VALUES (:place, :session, :source, :bound_at, :topic, :gone_at, :version + 1);

-- name: update_binding
UPDATE bindings
SET
    session = :session, source = :source, bound_at = :bound_at, topic = :topic, gone_at = :gone_at,
    version = version + 1
WHERE place = :place AND version = :version;

-- name: version_of_binding
SELECT version FROM bindings WHERE place = :place;

-- name: insert_message
INSERT INTO messages (
    id, sender, recipient, intent, text, origin, wake, conversation, accepted_at, queued_at, due_at, expires_at,
    state, outcome, reason, in_reply_to, cause, depth, path, place, person, by_command, late, turn, epoch,
    leased_until, attempts, unread, woken_at, read_at, settled_at, attachments, pieces, version
)
VALUES (
    :id, :sender, :recipient, :intent, :text, :origin, :wake, :conversation, :accepted_at, :queued_at, :due_at,
    :expires_at, :state, :outcome, :reason, :in_reply_to, :cause, :depth, :path, :place, :person, :by_command,
    :late, :turn, :epoch, :leased_until, :attempts, :unread, :woken_at, :read_at, :settled_at, :attachments, :pieces,
    :version + 1
);

-- name: update_message
-- Only its delivery: nothing else of a message changes, and each column costs time.
UPDATE messages
SET
    wake = :wake, queued_at = :queued_at, due_at = :due_at, expires_at = :expires_at, state = :state, outcome = :outcome, reason = :reason,
    turn = :turn, epoch = :epoch, leased_until = :leased_until, attempts = :attempts, unread = :unread,
    woken_at = :woken_at, read_at = :read_at, settled_at = :settled_at, version = version + 1
WHERE id = :id AND version = :version;

-- name: version_of_message
SELECT version FROM messages WHERE id = :id;

-- name: insert_request
INSERT INTO requests (
    id, asker, asked, opened_at, expires_at, state, parent, place, by_command, deferred, closing, late,
    closed_at, reason, version
)
VALUES (
    :id, :asker, :asked, :opened_at, :expires_at, :state, :parent, :place, :by_command, :deferred, :closing,
    :late, :closed_at, :reason, :version + 1
);

-- name: update_request
UPDATE requests
SET
    asker = :asker, asked = :asked, opened_at = :opened_at, expires_at = :expires_at, state = :state,
    parent = :parent, place = :place, by_command = :by_command, deferred = :deferred, closing = :closing,
    late = :late, closed_at = :closed_at, reason = :reason, version = version + 1
WHERE id = :id AND version = :version;

-- name: version_of_request
SELECT version FROM requests WHERE id = :id;

-- name: insert_turn
INSERT INTO turns (
    id, session, inputs, acts_for, conversation, started_at, node, leased_until, epoch, state, place, process,
    prompt_sent, tools_begun, peer_read, prompt, occurrence, heard, ended_at, stop_reason, failure, usage,
    version
)
VALUES (
    :id, :session, :inputs, :acts_for, :conversation, :started_at, :node, :leased_until, :epoch, :state, :place,
    :process, :prompt_sent, :tools_begun, :peer_read, :prompt, :occurrence, :heard, :ended_at, :stop_reason, :failure,
    :usage, :version + 1
);

-- name: update_turn
UPDATE turns
SET
    session = :session, inputs = :inputs, acts_for = :acts_for, conversation = :conversation,
    started_at = :started_at, node = :node, leased_until = :leased_until, epoch = :epoch, state = :state,
    place = :place, process = :process, prompt_sent = :prompt_sent, tools_begun = :tools_begun,
    peer_read = :peer_read, prompt = :prompt, occurrence = :occurrence, heard = :heard, ended_at = :ended_at,
    stop_reason = :stop_reason, failure = :failure, usage = :usage, version = version + 1
WHERE id = :id AND version = :version;

-- name: version_of_turn
SELECT version FROM turns WHERE id = :id;

-- name: insert_conversation
INSERT INTO conversations (id, first, place, budget, messages, told, version)
VALUES (:id, :first, :place, :budget, :messages, :told, :version + 1);

-- name: update_conversation
UPDATE conversations
SET
    first = :first, place = :place, budget = :budget, messages = :messages, told = :told, version = version + 1
WHERE id = :id AND version = :version;

-- name: version_of_conversation
SELECT version FROM conversations WHERE id = :id;

-- name: insert_pair
INSERT INTO pairs (a, b, recent, rest_until, version)
VALUES (:a, :b, :recent, :rest_until, :version + 1);

-- name: update_pair
UPDATE pairs
SET
    recent = :recent, rest_until = :rest_until, version = version + 1
WHERE a = :a AND b = :b AND version = :version;

-- name: version_of_pair
SELECT version FROM pairs WHERE a = :a AND b = :b;

-- name: insert_post
INSERT INTO posts (
    id, key, place, kind, text, created_at, due_at, buttons, message, session, state, receipt, attempts, error,
    markup, whole, file, reply_to, answers, silent, version
)
VALUES (
    :id, :key, :place, :kind, :text, :created_at, :due_at, :buttons, :message, :session, :state, :receipt,
    :attempts, :error, :markup, :whole, :file, :reply_to, :answers, :silent, :version + 1
);

-- name: update_post
UPDATE posts
SET
    key = :key, place = :place, kind = :kind, text = :text, created_at = :created_at, due_at = :due_at,
    buttons = :buttons, message = :message, session = :session, state = :state, receipt = :receipt,
    attempts = :attempts, error = :error, markup = :markup, whole = :whole, file = :file, reply_to = :reply_to,
    answers = :answers, silent = :silent, version = version + 1
WHERE id = :id AND version = :version;

-- name: version_of_post
SELECT version FROM posts WHERE id = :id;

-- name: insert_update
INSERT INTO updates (source, number, raw, received_at, handled_at, error, version)
VALUES (:source, :number, :raw, :received_at, :handled_at, :error, :version + 1);

-- name: update_update
UPDATE updates
SET
    raw = :raw, received_at = :received_at, handled_at = :handled_at, error = :error, version = version + 1
WHERE source = :source AND number = :number AND version = :version;

-- name: version_of_update
SELECT version FROM updates WHERE source = :source AND number = :number;

-- name: insert_note
INSERT INTO notes (source, key, text, version)
VALUES (:source, :key, :text, :version + 1);

-- name: update_note
UPDATE notes SET text = :text, version = version + 1
WHERE source = :source AND key = :key AND version = :version;

-- name: version_of_note
SELECT version FROM notes WHERE source = :source AND key = :key;

-- name: insert_grant
INSERT INTO grants (
    id, sender, recipient, verbs, effect, scope, by, via, given_at, expires_at, conversation, used_at,
    revoked_at, revoked_by, version
)
VALUES (
    :id, :sender, :recipient, :verbs, :effect, :scope, :by, :via, :given_at, :expires_at, :conversation,
    :used_at, :revoked_at, :revoked_by, :version + 1
);

-- name: update_grant
UPDATE grants
SET
    sender = :sender, recipient = :recipient, verbs = :verbs, effect = :effect, scope = :scope, by = :by, via =
    :via, given_at = :given_at, expires_at = :expires_at, conversation = :conversation, used_at = :used_at,
    revoked_at = :revoked_at, revoked_by = :revoked_by, version = version + 1
WHERE id = :id AND version = :version;

-- name: version_of_grant
SELECT version FROM grants WHERE id = :id;

-- name: insert_gateway
INSERT INTO gateways (id, digest, paired_at, paired_by, seen_at, removed_at, version)
VALUES (:id, :digest, :paired_at, :paired_by, :seen_at, :removed_at, :version + 1);

-- name: update_gateway
UPDATE gateways
SET
    digest = :digest, paired_at = :paired_at, paired_by = :paired_by, seen_at = :seen_at, removed_at = :removed_at,
    version = version + 1
WHERE id = :id AND version = :version;

-- name: version_of_gateway
SELECT version FROM gateways WHERE id = :id;

-- name: insert_approval
INSERT INTO approvals (
    id, subject, about, content, by, opened_at, expires_at, closed_at, decided_by, outcome, version
)
VALUES (
    :id, :subject, :about, :content, :by, :opened_at, :expires_at, :closed_at, :decided_by, :outcome, :version +
    1
);

-- name: update_approval
UPDATE approvals
SET
    subject = :subject, about = :about, content = :content, by = :by, opened_at = :opened_at, expires_at =
    :expires_at, closed_at = :closed_at, decided_by = :decided_by, outcome = :outcome, version = version + 1
WHERE id = :id AND version = :version;

-- name: version_of_approval
SELECT version FROM approvals WHERE id = :id;

-- name: insert_regime
INSERT INTO regimes (
    id, paused_at, paused_by, accepted, version
)
VALUES (
    :id, :paused_at, :paused_by, :accepted, :version + 1
);

-- name: update_regime
UPDATE regimes
SET
    paused_at = :paused_at, paused_by = :paused_by, accepted = :accepted, version = version + 1
WHERE id = :id AND version = :version;

-- name: version_of_regime
SELECT version FROM regimes WHERE id = :id;

-- name: insert_token
INSERT INTO tokens (id, session, name, digest, by, via, made_at, used_at, revoked_at, revoked_by, version)
VALUES (
    :id, :session, :name, :digest, :by, :via, :made_at, :used_at, :revoked_at, :revoked_by, :version + 1
);

-- name: update_token
UPDATE tokens
SET
    session = :session, name = :name, digest = :digest, by = :by, via = :via, made_at = :made_at, used_at = :used_at,
    revoked_at = :revoked_at, revoked_by = :revoked_by, version = version + 1
WHERE id = :id AND version = :version;

-- name: version_of_token
SELECT version FROM tokens WHERE id = :id;

-- name: insert_key
INSERT INTO keys (sender, key, body, message)
VALUES (:sender, :key, :body, :message);

-- name: insert_verdict
INSERT INTO verdicts (
    id, at, sender, recipient, origin, verbs, effect, rule, reason, code, message, cause, conversation, person
)
VALUES (
    :id, :at, :sender, :recipient, :origin, :verbs, :effect, :rule, :reason, :code, :message, :cause,
    :conversation, :person
);

-- name: insert_step
INSERT INTO steps (id, at, step, session, message, conversation, cause, detail)
VALUES (:id, :at, :step, :session, :message, :conversation, :cause, :detail);

-- name: insert_act
INSERT INTO acts (id, at, act, by, origin, via, subject, detail)
VALUES (:id, :at, :act, :by, :origin, :via, :subject, :detail);

-- name: count_one_more
INSERT INTO quotas (profile, day, sent) VALUES (:profile, :day, 1)
ON CONFLICT (day, profile) DO UPDATE SET sent = sent + 1;

-- name: unbind
DELETE FROM bindings WHERE place = :place;

-- Moves. Each is these statements in their order.

-- name: move_offer
-- An offer at the new place gives way, a session's binding does not.
DELETE FROM bindings
WHERE place = :new AND session IS NULL AND EXISTS (SELECT 1 FROM bindings WHERE place = :old);

-- name: move_bound
DELETE FROM bindings WHERE place = :old AND EXISTS (SELECT 1 FROM bindings WHERE place = :new);

-- name: move_binding
UPDATE bindings SET place = :new, gone_at = NULL, version = version + 1 WHERE place = :old;

-- name: move_messages
UPDATE messages SET place = :new, version = version + 1 WHERE place = :old;

-- name: move_requests
UPDATE requests SET place = :new, version = version + 1 WHERE place = :old;

-- name: move_turns
UPDATE turns SET place = :new, version = version + 1 WHERE place = :old;

-- name: move_conversations
UPDATE conversations SET place = :new, version = version + 1 WHERE place = :old;

-- name: move_posts
-- As `Post.moved` says.
UPDATE posts
SET
    place = :new,
    reply_to = NULL,
    receipt = CASE
        WHEN kind = 'progress' OR (kind IN ('reply', 'question') AND buttons <> '[]') THEN NULL ELSE receipt
    END,
    state = CASE WHEN kind IN ('reply', 'question') AND buttons <> '[]' THEN 'pending' ELSE state END,
    error = CASE WHEN kind IN ('reply', 'question') AND buttons <> '[]' THEN NULL ELSE error END,
    version = version + 1
WHERE place = :old;

-- name: move_return
DELETE FROM moves WHERE old = :new;

-- name: move_earlier
UPDATE moves SET new = :new WHERE new = :old;

-- name: insert_move
INSERT INTO moves (old, new, at, why) VALUES (:old, :new, :at, :why)
ON CONFLICT (old) DO NOTHING;

-- name: moved_elsewhere
SELECT count(*) FROM moves WHERE old = :old AND new <> :new;
