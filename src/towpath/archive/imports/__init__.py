"""Segments of CrowdStrike's kafka-replicator: read, and written again as ours."""
