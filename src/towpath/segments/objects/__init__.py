"""Objects on their way into the store: their bytes until they are complete, and their keys."""
