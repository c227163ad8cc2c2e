"""Floor 4: schemas, the same in the registry of the target as in that of the source."""
