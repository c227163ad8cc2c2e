"""Topics and access of two clusters, as values and on real brokers."""
