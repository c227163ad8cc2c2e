"""Nodes that are Kubernetes pods: their objects, and the changes that steps make."""
