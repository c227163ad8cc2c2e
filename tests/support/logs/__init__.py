"""Record batches and whole logs: built, drawn at random, changed and compared in memory."""
