"""Keys with one writer: what is written under them arrives in order (docs/decisions/0018).

Kafka's cleaner keeps the last record of each key, so an entry that arrives late must never replace
a newer one. A writer therefore takes a key of its own. It takes another one after every write that
did not succeed at once, as that write may still arrive, and after a silence. Everybody else may
remove what stands under a key that was old when they read it.
"""

from __future__ import annotations

import uuid

from towpath.model.clock import now_ms

SILENT = 900_000
"""Milliseconds of silence after which a writer takes another key."""
ABANDONED = 3_600_000
"""Milliseconds after which nobody writes under a key any more. Far above `SILENT`: the rest is for
slow requests and for clocks that differ."""


def new_name() -> str:
    """Return the part of a key that makes it the writer's own."""
    return uuid.uuid4().hex[:16]


def is_silent(at: int) -> bool:
    """Whether a writer that wrote under a key at that time must take another key now."""
    return not 0 <= now_ms() - at < SILENT


def is_abandoned(at: int, read_at: int) -> bool:
    """Whether nobody writes under a key whose last entry is of time `at`.

    Args:
        at: When the last entry under the key was written, in ms.
        read_at: When the ledger was read that held this entry as the last one, in ms.
    """
    return at < read_at - ABANDONED
