"""Steps as they are done on real nodes, and what they wait for."""
