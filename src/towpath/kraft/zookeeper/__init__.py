"""Access to a cluster's ZooKeeper: read in one pass, rarely written, locked."""
