"""Floor 6: the end of a migration."""
