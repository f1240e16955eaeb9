"""What a person does to keep a home well, whether its bridge runs or not: backup and doctor."""
