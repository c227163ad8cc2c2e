"""Python's search for cycles of objects that nobody uses."""

from __future__ import annotations

import gc

_COLLECT = 50_000, 20, 100
_kept: list[bool] = []  # Python's own count of them walks through all


def collect_seldom() -> None:
    """Look for cycles seldom.

    Python's default looks after every 700 new objects. A link of 20,000 partitions makes millions
    that stay, and hardly any cycle: that took a quarter of its start. A slice that changes records
    spent a twelfth of its time so.
    """
    gc.set_threshold(*_COLLECT)


def keep_loaded() -> None:
    """Take all objects that live now out of later searches, once in a process.

    A worker of PySpark searches through all objects after each task (`pyspark/daemon.py`). Those of
    the compiled loops are 300,000, which took a third of its CPU seconds; they stay anyway.
    """
    if not _kept:
        gc.freeze()
        _kept.append(True)
