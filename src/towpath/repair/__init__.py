"""Floor 6: copy records again that the target lost."""
