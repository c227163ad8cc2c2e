"""Segment file formats, written and read: Parquet that anyone can query, or whole batches."""
