"""Copying again of records that the target lost."""
