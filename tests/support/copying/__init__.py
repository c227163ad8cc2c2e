"""Copiers of a mirror: alone, racing, frozen and killed, with and without Spark."""
