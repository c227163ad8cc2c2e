"""The choice of the next safe step: stages, gates, repairs, ways forward and back. Pure."""
