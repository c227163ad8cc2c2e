"""Import of CrowdStrike kafka-replicator buckets: read segments, and write ours."""
