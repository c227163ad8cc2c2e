"""Python's search for cycles of objects that nobody uses."""

from __future__ import annotations

import ctypes
import gc
import time

_COLLECT = 50_000, 20, 100
_kept: list[bool] = []  # Python's own count of them walks through all


def collect_seldom() -> None:
    """Look for cycles seldom.

    Python's default looks after every 700 new objects. A link of 20,000 partitions makes millions
    that stay, and hardly any cycle: that took a quarter of its start. A slice that changes records
    spent a twelfth of its time so. What runs for long searches by itself (`CycleSearch`).
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


def give_back() -> None:
    """Give memory that is free back to the kernel, where the C library can (glibc).

    It keeps what large values leave behind between small ones, which grows over hours.
    """
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


class CycleSearch:
    """Searches for cycles now and then in a process that runs for long.

    With thresholds that suit a start, a run that has nothing but a few requests to do would search
    once in ten minutes, and only among what is young: a third of that lived long enough to be kept
    for hours, and memory rose by 35 MiB in each. The first search sets apart what lives by then, so
    that later ones are quick.

    Args:
        pause: Seconds between two searches, or more.
        sparing: How many times as long as the CPU seconds of a search the pause behind it is.
    """

    def __init__(self, pause: float = 60.0, sparing: float = 200.0) -> None:
        self._least = self._pause = pause
        self._sparing = sparing
        self._last = time.monotonic()

    def when_due(self) -> None:
        """Search if it is time to."""
        if time.monotonic() - self._last < self._pause:
            return
        began = time.thread_time()
        gc.collect()
        keep_loaded()
        give_back()
        self._last = time.monotonic()
        self._pause = max(self._least, self._sparing * (time.thread_time() - began))
