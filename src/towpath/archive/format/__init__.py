"""Segments as files: Parquet that anyone can query, or whole record batches; and back."""
