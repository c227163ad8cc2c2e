"""The commands `towpath archive`, `towpath restore` and `towpath import kafka-replicator`."""
