"""Archiving slices: the plan of a cycle, and its execution on Spark."""
