"""A terminal as a chat: each place is a topic, and what is shown there is a block of lines."""
