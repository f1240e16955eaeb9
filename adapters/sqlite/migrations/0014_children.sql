-- A session may be the child of another's turn; every other is made with the caps of its children, as JSON.

ALTER TABLE sessions ADD COLUMN parent TEXT;
ALTER TABLE sessions ADD COLUMN spawned_in TEXT CHECK ((spawned_in IS NULL) = (parent IS NULL));
ALTER TABLE sessions ADD COLUMN caps TEXT CHECK (caps IS NULL OR parent IS NULL);

CREATE INDEX sessions_children ON sessions (parent, id) WHERE parent IS NOT NULL AND closed_at IS NULL;
