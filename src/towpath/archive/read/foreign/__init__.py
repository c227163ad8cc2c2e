"""Broker logs in a store, read like an archive."""
