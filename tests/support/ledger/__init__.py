"""Entries of the ledger, and the standing of a link, as values."""
