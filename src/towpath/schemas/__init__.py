"""Floor 4: schemas, kept the same in the registries of the source and the target."""
