"""Floor 5: the way back from an archive into a cluster."""

RESTORING = ("towpath.restore.slices",)
"""Modules that Python workers import before the slices of a restore arrive."""
