"""Archiving: what is read next, and what a slice makes of it."""
