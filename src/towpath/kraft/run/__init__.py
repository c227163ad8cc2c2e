"""The run of a migration: observe, decide, do one step, repeat."""
