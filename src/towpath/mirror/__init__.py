"""Links: topics mirrored with their groups, schemas and access, watched, proven and cut over."""

COPYING = ("towpath.mirror.run.slices",)
"""Modules that Python workers import before the slices of a mirror arrive."""

TRANSFORMING = (
    "towpath.dataframes.transform.task",
    "towpath.dataframes.transform.frames",
)
"""Modules that Python workers import before records of a link go through Spark."""
