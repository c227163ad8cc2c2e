"""Values of a cluster on its way to KRaft: what was seen, and what is read out of it. Pure."""
