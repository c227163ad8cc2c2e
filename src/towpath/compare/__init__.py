"""Floor 4: the comparison of source and target within one slice."""

COMPARING = ("towpath.compare.slice",)
"""Modules that Python workers import before the first comparing slice comes."""
