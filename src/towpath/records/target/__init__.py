"""Target partitions: where they stand, who may write them, and sending batches to them."""
