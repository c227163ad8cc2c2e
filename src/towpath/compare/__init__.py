"""Floor 4: comparison of source and target, as one slice does it."""

COMPARING = ("towpath.compare.slice",)
"""Modules that Python workers import before the first comparing slice comes."""
