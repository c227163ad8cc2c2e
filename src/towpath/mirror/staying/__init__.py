"""Things that clients use at the source and that a link does not copy."""
