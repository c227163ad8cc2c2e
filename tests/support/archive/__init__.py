"""Archives for tests: made of records without a source, run, compacted, restored, and killed."""
