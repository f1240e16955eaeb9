-- Leases end, and those of turns name their node and carry an epoch. What was leased before is free at once.

ALTER TABLE turns ADD COLUMN node TEXT NOT NULL DEFAULT 'local';
ALTER TABLE turns ADD COLUMN leased_until REAL NOT NULL DEFAULT 0;
ALTER TABLE turns ADD COLUMN epoch INTEGER NOT NULL DEFAULT 1;
ALTER TABLE messages ADD COLUMN leased_until REAL CHECK (leased_until IS NULL OR state = 'leased');

UPDATE messages SET leased_until = coalesce(read_at, 0)
WHERE state = 'leased' AND turn >= 'receiver:' AND turn < 'receiver;';

CREATE INDEX turns_leased ON turns (leased_until, id) WHERE state IN ('starting', 'running');
CREATE INDEX messages_lapsing ON messages (leased_until, id) WHERE state = 'leased';
