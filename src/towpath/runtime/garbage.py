"""Python's search for cycles of objects that nobody uses."""

from __future__ import annotations

import gc

_COLLECT = 50_000, 20, 100


def collect_seldom() -> None:
    """Look for cycles seldom.

    Python's default looks after every 700 new objects. A link of 20,000 partitions makes millions
    that stay, and hardly any cycle: that took a quarter of its start. A slice that changes records
    spent a twelfth of its time so.
    """
    gc.set_threshold(*_COLLECT)
