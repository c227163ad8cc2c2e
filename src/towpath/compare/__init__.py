"""Floor 4: what a comparing slice does."""

COMPARING = ("towpath.compare.slice",)
"""Modules that Python workers import before the first comparing slice comes."""
