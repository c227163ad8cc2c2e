"""Migration of a cluster from ZooKeeper to KRaft (KIP-866), and the rollback."""
