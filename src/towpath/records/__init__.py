"""Floor 3: what a slice does with records: copy them, keep offsets, verify."""
