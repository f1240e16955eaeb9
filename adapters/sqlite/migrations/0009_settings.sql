-- What the operator's file says of how a session takes others' mail. Until it is read again, all have the defaults.

ALTER TABLE sessions ADD COLUMN busy TEXT NOT NULL DEFAULT 'queue' CHECK (
    busy = 'queue' OR busy = 'collect' OR busy = 'steer' OR busy = 'reject'
);
ALTER TABLE sessions ADD COLUMN inbox_limit INTEGER;
ALTER TABLE sessions ADD COLUMN max_chars INTEGER;
ALTER TABLE sessions ADD COLUMN reply_wake INTEGER CHECK (reply_wake IN (0, 1));
ALTER TABLE sessions ADD COLUMN peer_tools TEXT NOT NULL DEFAULT 'ask' CHECK (
    peer_tools = 'ask' OR peer_tools = 'deny' OR peer_tools = 'inherit'
);
ALTER TABLE sessions ADD COLUMN peer_mode TEXT;
ALTER TABLE sessions ADD COLUMN hidden INTEGER NOT NULL DEFAULT 0 CHECK (hidden IN (0, 1));
ALTER TABLE sessions ADD COLUMN quiet TEXT NOT NULL DEFAULT '[]';
ALTER TABLE sessions ADD COLUMN timezone TEXT NOT NULL DEFAULT 'UTC';
