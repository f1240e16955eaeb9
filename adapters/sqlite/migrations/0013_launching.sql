-- What a session was made with, by which key, and which of its agents answers. Sessions of before get the settings of
-- now at the next start.

ALTER TABLE sessions ADD COLUMN frozen TEXT;
ALTER TABLE sessions ADD COLUMN creation TEXT;
ALTER TABLE sessions ADD COLUMN answering TEXT;
ALTER TABLE sessions ADD COLUMN standbys TEXT NOT NULL DEFAULT '[]';
