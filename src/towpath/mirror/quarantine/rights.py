"""A check for plans whether records can be put into quarantine."""

from __future__ import annotations

from collections.abc import Iterator

from towpath.cluster.admin import Admin
from towpath.cluster.admin.rights import Right, lacks
from towpath.model.changes import Malformed, Undeliverable
from towpath.model.errors import ClusterError
from towpath.model.findings import Note
from towpath.model.nouns import QUARANTINE, Side
from towpath.settings import LinkConfig


def may_set_aside(config: LinkConfig) -> bool:
    """Return whether the file puts records of any topic into quarantine."""
    return any(
        each.undeliverable is Undeliverable.QUARANTINE
        or (each.ids is not None and each.ids.malformed is Malformed.QUARANTINE)
        for each in config.changes
    )


def findings(config: LinkConfig, target: Admin) -> Iterator[Note]:
    """Yield notes on what would prevent records from being put into quarantine.

    Raises:
        ClusterError: The target cannot be reached.
    """
    if not may_set_aside(config):
        return
    found = target.topics.describe([QUARANTINE]).get(QUARANTINE)
    why: str | ClusterError | None = found.error if found is not None else None
    if found is not None and why is None:
        missing = target.topics.lacking({QUARANTINE: (Right.WRITE,)}).get(QUARANTINE, ())
        why = lacks(Side.TARGET, QUARANTINE, missing) if missing else None
    if why is not None:
        text = f"{why}; until then, a partition stops at a record that should be set aside"
        yield Note(QUARANTINE, text)
