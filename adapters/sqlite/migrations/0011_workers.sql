-- How much of what a turn's agent told is stored, for whoever adopts the agent.

ALTER TABLE turns ADD COLUMN heard INTEGER NOT NULL DEFAULT 0;
