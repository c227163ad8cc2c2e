"""Floor 4: what a comparing slice does."""

COMPARING = ("towpath.compare.slice",)
"""What Python workers import before slices of a comparison come."""
