"""Floor 4: what a slice does with records: copy them, keep offsets, verify."""
