"""Floor 6: copying again what the target lost."""
