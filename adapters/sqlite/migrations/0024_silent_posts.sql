-- Whether a post comes without a sound.

ALTER TABLE posts ADD COLUMN silent INTEGER NOT NULL DEFAULT 0 CHECK (silent IN (0, 1));

UPDATE posts SET silent = 1 WHERE kind IN ('progress', 'handoff') OR (kind = 'final' AND instr(key, '#') > 0);
