"""Log messages of queries."""

from __future__ import annotations

import sys


def tell(text: str) -> None:
    """Write a warning to standard error, where Spark keeps it with the task or the driver."""
    sys.stderr.write(f"towpath: warning: {text}\n")
