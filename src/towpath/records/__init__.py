"""Floor 3: what a copy slice does with records."""
