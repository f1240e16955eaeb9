-- What a chat's adapter wants to know after a restart, such as how much it has sent of late.

CREATE TABLE notes (
    source TEXT NOT NULL,
    key TEXT NOT NULL,
    text TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (source, key)
) STRICT, WITHOUT ROWID;
