"""A cluster's way from ZooKeeper to KRaft (KIP-866): observed, planned, done, proven, undone."""
