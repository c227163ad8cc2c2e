"""Ledger keys with one writer each, so that their entries stay in order (docs/decisions/0018).

Kafka's cleaner keeps the last record of each key, so an entry that arrives late must never replace
a newer one. A writer therefore takes a key of its own. It takes another one after every write that
did not succeed at once, because that write may still arrive, and after a silence. Any other process
may remove the entry of a key that was old when it read the ledger.
"""

from __future__ import annotations

import uuid

from towpath.runtime.clock import now_ms

SILENT = 900_000
"""Time without a write after which a writer takes another key, in ms."""
ABANDONED = 3_600_000
"""Time after which no writer uses a key any more, in ms. It is far above `SILENT`, to allow for
slow requests and for clocks that differ."""


def new_name() -> str:
    """Return a random name that makes a ledger key unique to one writer."""
    return uuid.uuid4().hex[:16]


def is_silent(at: int) -> bool:
    """Return whether a writer was silent for so long that it must use a new key."""
    return not 0 <= now_ms() - at < SILENT


def is_abandoned(at: int, read_at: int) -> bool:
    """Return whether a key whose last entry has time `at` has no writer any more.

    Args:
        at: When the last entry under the key was written, in ms.
        read_at: When the ledger was read that held this entry as the last one, in ms.
    """
    return at < read_at - ABANDONED
