"""The way back from an archive into a cluster."""

RESTORING = ("towpath.archive.restore.slices",)
"""Modules that Python workers import before the slices of a restore arrive."""
