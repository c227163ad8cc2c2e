"""Floor 5: the commands on an archive as a whole."""
