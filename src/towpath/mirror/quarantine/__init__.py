"""Quarantined records: listing, display and replay."""
