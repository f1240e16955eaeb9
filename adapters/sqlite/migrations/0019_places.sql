-- Places move, and what still names an old one is led on. Of a place that is a topic its name is known, and whether it is
-- gone.

ALTER TABLE bindings ADD COLUMN topic TEXT;
ALTER TABLE bindings ADD COLUMN gone_at REAL;

CREATE TABLE moves (
    old TEXT PRIMARY KEY,
    new TEXT NOT NULL CHECK (new <> old),
    at REAL NOT NULL,
    why TEXT NOT NULL CHECK (why = 'migrated' OR why = 'recreated')
) STRICT;
