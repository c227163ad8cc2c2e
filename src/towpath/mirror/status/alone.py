"""The status of partitions from ledger and target alone, if the source is unreachable."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from towpath.cluster.admin import Admin
from towpath.ledger.books import LinkBooks
from towpath.mirror.status.losses import Losses
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.mirror.status.partitions import row_of, with_state
from towpath.settings import LinkConfig


def without_source(
    config: LinkConfig, books: LinkBooks, target: Admin, patience: float | None = None
) -> tuple[PartitionStatus, ...]:
    """Return the status of every partition that the file asks for and the ledger knows.

    How far the source has come since is not known.

    Args:
        config: The link.
        books: What the ledger knows of the link.
        target: Asked for its log end offsets.
        patience: Seconds for the target's leaders, each of which is asked once.

    Raises:
        ClusterError: The target could not be reached.
    """
    known = {
        tp: each
        for tp, each in books.partitions.items()
        if each.opened is not None and config.topics.matches(tp.topic)
    }
    losses = Losses()
    lost, hidden = losses.find(target, known, patience)

    def rows() -> Iterator[PartitionStatus]:
        for tp, each in sorted(known.items()):
            assert each.opened is not None  # noqa: S101  # chosen above
            row = row_of(tp, each.opened.target_topic, books, {}, lost=lost.get(tp))
            end = losses.ends.get(tp, -1)
            silent = not row.error or tp in hidden
            state = State.NO_LEADER if silent else row.state
            yield with_state(replace(row, target_log_end=end, state=state), books)

    return tuple(rows())
