"""State of a pass over records, and the byte ranges that stayed the same; for compiled loops.

What is not noted is taken to be new, so a note may be missing, but never wrong.
"""

from __future__ import annotations

from typing import Any

from towpath.wire.loops import inlined

AT, ASIDE, UNKNOWN, HALT_OFFSET, HALT_CODE, KEPT, NOTED, PIECES = range(8)
"""State of a pass: next byte, rows of the tables, where it ended, number of kept records, rows of
what was done, and of bytes that stay the same. Where no byte moves, the first is the end of the
last bytes that were overwritten."""
STATE = 8


@inlined
def keep(report: Any, old: Any, new: Any, size: Any) -> None:
    """Note that `size` bytes at `old` in the source are at `new` in the output, unchanged."""
    state, pieces = report[0], report[4]
    count = state[PIECES]
    if size <= 0 or len(pieces) == 0:
        return
    if count > 0:
        last = pieces[count - 1]
        if last[0] + last[2] == old and last[1] + last[2] == new:
            last[2] += size
            return
    if count < len(pieces):
        pieces[count, 0], pieces[count, 1], pieces[count, 2] = old, new, size
        state[PIECES] += 1


@inlined
def keep_until(report: Any, at: Any, size: Any) -> None:
    """Note that all bytes up to `at` are unchanged, in a pass that moves no bytes."""
    state = report[0]
    keep(report, state[AT], state[AT], at - state[AT])
    state[AT] = at + size
