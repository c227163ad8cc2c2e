"""The commands `towpath archive`, `towpath restore` and `towpath import kafka-replicator`."""

LEFT_OUT = 3
"""Exit code where something is left out, in trouble, or lost."""
