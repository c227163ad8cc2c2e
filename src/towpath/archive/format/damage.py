"""The exceptions that libraries raise for damaged bytes."""

from __future__ import annotations

import pyarrow as pa

BY_DAMAGE = (ArithmeticError, LookupError, MemoryError, TypeError, ValueError, pa.ArrowException)
"""What a reader of Parquet may raise about a footer that has changed: such as `UnicodeDecodeError`
about the name of a column, or `MemoryError` about a length. Anywhere else it is a fault."""
