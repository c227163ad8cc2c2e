"""Metadata transactions (KIP-868), whose records take effect when the transaction ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from towpath.kraft.facts.nouns import LogState
from towpath.kraft.facts.seen import CopiedRange
from towpath.kraft.metadata.records import Entry

COPY = "ZK Migration"
"""Name of the transaction that copies ZooKeeper (`KRaftMigrationDriver` of Kafka 3.9)."""


@dataclass(slots=True)
class MetadataTransactions:
    """The records of the open metadata transaction, which count only once it ends.

    Attributes:
        name: Name of the open transaction, None while there is none.
        copied: Where the newest copy of ZooKeeper lies that has ended.
        aborted: MetadataTransactions that were aborted.
    """

    name: str | None = None
    copied: CopiedRange | None = None
    aborted: int = 0
    _begin: int = -1
    _held: list[Entry] = field(default_factory=list)

    @property
    def copying(self) -> bool:
        """Whether the open transaction is the copy of ZooKeeper."""
        return self.name == COPY

    def take(self, entry: Entry) -> Sequence[Entry]:
        """Take the next record; return the records that take effect with it."""
        if entry.name == "EndTransactionRecord":
            return self._end(entry)
        if entry.name == "BeginTransactionRecord":
            self._open(entry)
        elif entry.name == "AbortTransactionRecord":
            self.aborted += 1
            self._close()
        elif self.name is None:
            return (entry,)
        else:
            self._held.append(entry)
        return ()

    def _open(self, entry: Entry) -> None:
        self.name, self._begin, self._held = entry.body.name or "", entry.offset, []

    def _end(self, end: Entry) -> Sequence[Entry]:
        held = self._held
        state = _state_at(held)
        if self.copying and state is not None:
            self.copied = CopiedRange(begin=self._begin, state=state, end=end.offset)
        self._close()
        return held

    def _close(self) -> None:
        self.name, self._begin, self._held = None, -1, []


def _state_at(entries: Sequence[Entry]) -> int | None:
    """Return the offset of the record that says that ZooKeeper is copied."""
    for each in entries:
        is_state = each.name == "ZkMigrationStateRecord" and each.body is not None
        if is_state and each.body.zk_migration_state == LogState.MIGRATION:
            return each.offset
    return None
