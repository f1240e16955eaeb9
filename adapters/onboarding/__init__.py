"""`tieline init`: from a bot's token to the first handoff, with a person at a terminal."""
