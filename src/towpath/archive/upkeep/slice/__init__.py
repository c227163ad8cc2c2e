"""What slices do that make new segments of old ones: a compaction, and `archive forget`."""
