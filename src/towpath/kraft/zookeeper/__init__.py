"""The ZooKeeper of a cluster: read in one pass, written to rarely, locked by one orchestrator."""
