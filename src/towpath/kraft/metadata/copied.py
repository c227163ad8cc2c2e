"""Search in the log for the copy of ZooKeeper, when a snapshot was read instead.

A snapshot says what is true, not how it became true. Controllers keep their log for a week behind a
snapshot (`metadata.max.retention.ms`), and the copy stands at its beginning.
"""

from __future__ import annotations

from towpath.kraft.facts.seen import CopiedRange, QuorumSeen
from towpath.kraft.metadata.controllers import Controllers
from towpath.kraft.metadata.fetching import SnapshotId, fetch
from towpath.kraft.metadata.records import batches
from towpath.kraft.metadata.transactions import MetadataTransactions
from towpath.runtime.deadline import Deadline

_FIRST = 1
"""At offset 0, where the first election stands, leaders answer with their snapshot."""


def find_copy(
    controllers: Controllers, quorum: QuorumSeen, end: int, deadline: Deadline
) -> CopiedRange | None:
    """Return the offsets of the copy of ZooKeeper in the log, `None` if they were deleted.

    Raises:
        ClusterError: The leader does not answer, or leads no more.
        CorruptBatchError: The log holds what cannot be read.
    """
    transactions, at = MetadataTransactions(), _FIRST
    while at < end:
        # Any epoch that reaches beyond the offset is taken; that of the leader always does.
        answer = fetch(controllers, quorum, SnapshotId(at, quorum.epoch), deadline)
        before = at
        for batch in batches(answer.data):
            for entry in batch.entries():
                transactions.take(entry)
            if transactions.copied is not None:
                return transactions.copied
            at = max(at, batch.last + 1)
        if at == before:
            return None
    return None
