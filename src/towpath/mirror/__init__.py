"""Floor 5: the run of a link, with its rounds."""

COPYING = ("towpath.mirror.slices",)
"""Modules that Python workers import before the slices of a mirror arrive."""
