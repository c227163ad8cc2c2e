"""Nodes that are pods: which objects belong to a node, and what steps make of them."""
