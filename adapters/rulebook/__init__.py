"""Looks at the rules of a settings file, without a running bridge: what they say, and what is wrong with them."""
