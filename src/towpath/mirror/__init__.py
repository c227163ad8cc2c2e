"""Floor 5: the run of a link, with its rounds."""

COPYING = ("towpath.mirror.slices",)
"""What Python workers import before slices of a mirror come."""
