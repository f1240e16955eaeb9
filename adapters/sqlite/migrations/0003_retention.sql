-- How what has outlived its retention is found, where no id tells its age.

CREATE INDEX updates_by_age ON updates (received_at);
CREATE INDEX keys_by_message ON keys (message);
