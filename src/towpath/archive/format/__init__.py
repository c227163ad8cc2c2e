"""Segment file formats, written and read: Parquet that anyone can query, or whole batches.

Layouts, byte by byte: docs/reference/archive-format.md. In code: `schema` (the columns of Parquet),
`batches_writer` (whole batches), `footer` (what both formats say of their segments).
`either_format` gives both one interface.
"""
