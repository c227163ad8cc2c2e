"""Floor 4: topics and their settings. `observe`, then `diff` (pure), then `apply` its steps."""
