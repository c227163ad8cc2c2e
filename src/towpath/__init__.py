"""Towpath moves Kafka topics, and everything around them, between two clusters."""

__version__ = "0.1.0"
