"""Floor 2: what was done, kept on the target: entries, their topic, the offset map."""
