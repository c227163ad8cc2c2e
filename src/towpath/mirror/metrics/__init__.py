"""Metrics of a link's run: their names, the meter that counts, and what is measured of it."""
