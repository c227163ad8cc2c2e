"""Restores: archived topics, groups, schemas and access rules copied into a cluster."""

RESTORING = ("towpath.archive.restore.slices",)
"""Modules that Python workers import before the slices of a restore arrive."""
