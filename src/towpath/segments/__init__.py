"""Floor 4: what an archive is made of, and what a slice does with it."""
