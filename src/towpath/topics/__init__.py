"""Floor 4: topics and their configs: `observe`, then `diff` (pure), then `apply` the steps."""
