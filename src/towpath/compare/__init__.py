"""Floor 4: what a comparing slice does."""
