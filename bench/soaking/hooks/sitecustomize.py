"""Memory of each Python process of a run, by line: `scripts/soak --profile memory`.

The soak puts this folder on PYTHONPATH, so Python imports it first, in the driver and in each
process that Spark starts. Nothing of Towpath knows of it. Each process writes every minute what
its lines hold, and how much more that is than after its first half minute.
"""

from __future__ import annotations

import os
import sys
import threading
import tracemalloc
from collections.abc import Iterator, Mapping
from pathlib import Path

FOLDER = os.environ.get("TOWPATH_SOAK_MEMORY", "")
FIRST, EVERY = 30.0, 60.0
LINES = 40

Sizes = Mapping[str, int]
"""Bytes that are held, by the file and line that asked for them."""


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
    threading.Thread(target=watch, name="soak-memory", daemon=True).start()


if FOLDER:
    tracemalloc.start(1)
    os.register_at_fork(after_in_child=begin)
    begin()
