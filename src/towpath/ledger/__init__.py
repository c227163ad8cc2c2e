"""Floor 2: what was done, kept on the target: entries, the topic that holds them, the offset map."""
