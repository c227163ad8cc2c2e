"""Looks at a cluster: everything that can be seen of it at one moment."""
