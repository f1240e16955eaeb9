-- The agent in a person's terminal that a session is now, as JSON, and when its person typed something there last.

ALTER TABLE sessions ADD COLUMN joined TEXT;
ALTER TABLE sessions ADD COLUMN prompted_at REAL;
