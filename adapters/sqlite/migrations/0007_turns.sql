-- What a turn has taken and what it has settled, by one index that grows at its end: turns begin in the order of their
-- ids. By recipient, each acknowledgement touched a page of its own.

DROP INDEX messages_leased;
DROP INDEX messages_read;
CREATE INDEX messages_by_turn ON messages (turn, settled_at) WHERE turn IS NOT NULL;
