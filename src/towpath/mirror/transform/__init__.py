"""Links whose records go through Spark: a loop of batches, each range of offsets exactly once."""
