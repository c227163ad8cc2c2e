"""Logs of the source that were cut below what is archived, and go on with other records."""
