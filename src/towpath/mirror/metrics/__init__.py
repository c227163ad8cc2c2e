"""Metrics of a link's run: their names, the meter, and the measurements."""
