"""Observation of a whole cluster at one moment."""
