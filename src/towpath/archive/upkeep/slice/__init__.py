"""Spark slices that replace segments: merges of a compaction, and `archive forget`."""
