"""Links: topics mirrored with their groups, schemas and access, watched, proven and cut over."""

COPYING = ("towpath.mirror.run.slices",)
"""Modules that Python workers import before the slices of a mirror arrive."""
