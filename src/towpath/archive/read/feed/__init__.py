"""Segments back into Kafka: a feed of lanes whose batches come from an archive."""
