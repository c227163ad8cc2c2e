"""Floor 4: where a link stands."""
