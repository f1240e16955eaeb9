"""What connects the core to the world: each package here implements ports and knows no other."""
