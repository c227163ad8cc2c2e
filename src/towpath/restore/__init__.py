"""Floor 5: a restore as a whole."""
