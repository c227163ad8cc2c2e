"""What Python's search for cycles passes over."""

from __future__ import annotations

import gc
import subprocess
import sys

from towpath.runtime.garbage import CycleSearch

_PROGRAM = """
import gc
from towpath.runtime.garbage import keep_loaded

keep_loaded()
first = gc.get_freeze_count()
made = [[] for _ in range(1000)]  # what lives later is looked at as ever
keep_loaded()
print(first > 1000, gc.get_freeze_count() - first < 1000)
"""


def test_what_is_loaded_is_kept_once() -> None:
    said = subprocess.run(
        [sys.executable, "-c", _PROGRAM], capture_output=True, text=True, check=True
    )
    assert said.stdout.split() == ["True", "True"]


_CYCLES = """
import gc
from towpath.runtime.garbage import CycleSearch, collect_seldom

collect_seldom()
search = CycleSearch(pause=0.0, sparing=0.0)
counts = []
for turn in range(60):
    for _ in range(100):  # a request leaves some cycles behind
        made = {}
        made["itself"] = [made, [], [], []]
    search.when_due()
    counts.append(len(gc.get_objects()))
print(max(counts[5:]) - min(counts[5:]))
"""


def test_a_process_that_runs_for_long_keeps_no_cycles() -> None:
    said = subprocess.run(
        [sys.executable, "-c", _CYCLES], capture_output=True, text=True, check=True
    )
    assert int(said.stdout) < 50


def test_a_search_waits_for_its_time() -> None:
    search = CycleSearch(pause=3600.0)
    before = gc.get_stats()[2]["collections"]
    search.when_due()
    assert gc.get_stats()[2]["collections"] == before


_FREE = """
import os
from pathlib import Path
from towpath.runtime.garbage import give_back

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") >> 20

made = [bytes(2000) for _ in range(50_000)]
kept = made[::100]  # so that the end of the heap stays in use
del made
before = resident()
give_back()
print(before - resident())
"""


def test_memory_that_is_free_between_what_is_used_is_given_back() -> None:
    said = subprocess.run([sys.executable, "-c", _FREE], capture_output=True, text=True, check=True)
    assert int(said.stdout) > 40
