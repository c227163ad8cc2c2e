"""The target side of a copy slice: where partitions stand, what is written, and trouble there."""
