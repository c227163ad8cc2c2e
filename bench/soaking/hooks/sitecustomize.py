"""Memory of each Python process of a run: `scripts/soak --profile memory` or `heap`.

The soak puts this folder on PYTHONPATH, so Python imports it first, in the driver and in each
process that Spark starts. Nothing of Towpath knows of it.

`memory` writes every minute what Python's lines hold, and how much more that is than after the
first half minute. `heap` appends a row every half minute: what malloc has given out and what it has
free, and how many objects Python has. It costs nothing, where `memory` doubles what it measures.
"""

from __future__ import annotations

import ctypes
import gc
import os
import sys
import threading
import time
import tracemalloc
from collections.abc import Iterator, Mapping
from pathlib import Path

FOLDER = os.environ.get("TOWPATH_SOAK_MEMORY", "")
HEAP = os.environ.get("TOWPATH_SOAK_HEAP", "")
FIRST, EVERY = 30.0, 60.0
LINES = 40
_FACTS = ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks", "uordblks",
          "fordblks", "keepcost")  # fmt: skip
COLUMNS = "seconds,rss KiB,malloc in use KiB,malloc free KiB,mmapped KiB,blocks,objects,threads"

Sizes = Mapping[str, int]
"""Bytes that are held, by the file and line that asked for them."""


class Mallinfo(ctypes.Structure):
    """What malloc tells of itself (mallinfo2)."""

    _fields_ = [(name, ctypes.c_size_t) for name in _FACTS]


def watch() -> None:
    """Write what is held, every minute, to a file of this process."""
    pause = threading.Event()
    pause.wait(FIRST)
    first = sizes()
    now = first
    while True:
        scratch = Path(FOLDER) / f".{os.getpid()}"  # whoever kills the process leaves no half page
        scratch.write_text("\n".join(page(first, now)) + "\n")
        scratch.replace(Path(FOLDER) / f"memory-{os.getpid()}.txt")
        pause.wait(EVERY)
        now = sizes()


def watch_heap() -> None:
    """Append a row about this process every half minute."""
    pause, began = threading.Event(), time.monotonic()
    path = Path(HEAP) / f"heap-{os.getpid()}.csv"
    path.write_text(f"# {' '.join(sys.orig_argv[1:5])}, parent {os.getppid()}\n{COLUMNS}\n")
    while not pause.wait(FIRST):
        with path.open("a") as out:
            out.write(",".join(map(str, heap(time.monotonic() - began))) + "\n")


def heap(seconds: float) -> tuple[int, ...]:
    """Return a row of `COLUMNS`."""
    ask = ctypes.CDLL(None).mallinfo2
    ask.restype = Mallinfo
    found = ask()
    rss = int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    sizes = rss, found.uordblks, found.fordblks, found.hblkhd
    counts = sys.getallocatedblocks(), len(gc.get_objects()), threading.active_count()
    return round(seconds), *(size >> 10 for size in sizes), *counts


def sizes() -> Sizes:
    """Return what is held now."""
    found: dict[str, int] = {}
    for each in tracemalloc.take_snapshot().statistics("lineno"):
        found[str(each.traceback)] = each.size
    return found


def page(first: Sizes, now: Sizes) -> Iterator[str]:
    """Yield the lines about a process."""
    held, peak = tracemalloc.get_traced_memory()
    yield f"{' '.join(sys.orig_argv[1:5])}, parent {os.getppid()}"
    yield f"{held >> 20} MiB held by Python's objects, {peak >> 20} MiB at most"
    more = {line: size - first.get(line, 0) for line, size in now.items()}
    yield from ("", "KiB more than after the first half minute:", *_largest(more))
    yield from ("", "KiB held:", *_largest(now))


def _largest(found: Sizes) -> Iterator[str]:
    for line in sorted(found, key=lambda line: -found[line])[:LINES]:
        yield f"{found[line] >> 10:8} {line}"


def begin() -> None:
    """Watch this process, a fork too."""
    look = watch if FOLDER else watch_heap
    threading.Thread(target=look, name="soak-memory", daemon=True).start()


if FOLDER:
    tracemalloc.start(1)
if FOLDER or HEAP:
    os.register_at_fork(after_in_child=begin)
    begin()
