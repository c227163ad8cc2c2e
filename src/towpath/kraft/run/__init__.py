"""A run of a migration: the loop of looks and steps, opened for one command."""
