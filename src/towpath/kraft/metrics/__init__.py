"""Metrics of a migration to KRaft."""
