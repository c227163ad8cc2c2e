"""Output of commands: results, plans, partitions and progress, for people and programs."""
