"""From what is seen to the next safe step: stages, gates, repairs, ways forward and back. Pure."""
