"""The commands that people type at a place (DESIGN §7, Chat), by subject. `exchange.py` puts them together, and
`run.Commands` carries them out."""
