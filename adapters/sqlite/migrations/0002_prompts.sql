-- What a turn's agent was sent, so that it is known again in the agent's own history.
ALTER TABLE turns ADD COLUMN prompt TEXT;
ALTER TABLE turns ADD COLUMN occurrence INTEGER NOT NULL DEFAULT 0;
