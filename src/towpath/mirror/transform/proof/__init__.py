"""Proof of links whose records go through Spark: they are made again, and compared in order."""
