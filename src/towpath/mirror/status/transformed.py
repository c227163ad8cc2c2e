"""The status of partitions whose records go through Spark: their positions, and nothing of offsets.

No offset of the target belongs to one of the source there, and no record is equal to another one.
"""

from __future__ import annotations

from collections.abc import Mapping

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.cluster.metadata import every_partition
from towpath.ledger.books import LinkBooks
from towpath.ledger.transformed import PositionsTopic, TransformedPosition
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.model.nouns import Side, TopicId, TopicName, TopicPartition
from towpath.model.reasons import Reason
from towpath.records.trouble import DELETED, RECREATED
from towpath.runtime.clock import now_ms
from towpath.settings import LinkConfig

MODE = "transformed"
"""What stands beside `identical` and `mapped` for partitions whose records go through Spark."""
DROPPED = "dropped:transform"
"""The kind in a tally of records that the query did not write."""
READ = "read"
"""The kind in a tally of records that were read."""

LOST = "lost"
"""The kind in a tally of source offsets that were deleted before they were read."""
_MADE_AGAIN = "a link with another name reads the new one"

Positions = Mapping[TopicPartition, TransformedPosition]


def transformed_status(
    config: LinkConfig,
    books: LinkBooks,
    source: Admin,
    target: Admin,
    patience: float | None = None,
) -> tuple[PartitionStatus, ...]:
    """Return the status of all partitions, from the positions on the target.

    Args:
        config: The link.
        books: What the ledger knows of it.
        source: Asked for its topics and log end offsets.
        target: Holds the positions.
        patience: As for `ask_leaders`.

    Raises:
        ClusterError: A cluster could not be reached.
        LedgerError: A position was written by a newer version.
    """
    with Client(config.target, Side.TARGET, target) as client:
        positions = PositionsTopic(target, client, config.link).seen()
    return rows_of(config, books, source, positions, patience)


def rows_of(
    config: LinkConfig,
    books: LinkBooks,
    source: Admin,
    positions: Positions,
    patience: float | None = None,
) -> tuple[PartitionStatus, ...]:
    """Return the status of all partitions, by their positions; also of topics that are gone.

    Args:
        config: The link.
        books: What the ledger knows of it.
        source: Asked for its topics and log end offsets.
        positions: Up to where records are through, by source partition.
        patience: As for `ask_leaders`.

    Raises:
        ClusterError: The source could not be reached.
    """
    told = source.topics.with_brokers()
    topics = {name: info for name, info in told.topics.items() if config.topics.takes(info)}
    tps = every_partition(topics)
    leaders = {tp: leader for tp in tps if (leader := told.leader(tp)) is not None}
    ends = source.offsets.latest(tps, committed=True, patience=patience, leaders=leaders)
    gone = [
        tp for tp in positions if tp.topic not in told.topics and config.topics.asks_for(tp.topic)
    ]
    names, misnamed = config.topics.target_names({*topics, *(tp.topic for tp in gone)})
    rows = []
    for tp in sorted([*tps, *gone]):
        name, at = names.get(tp.topic, TopicName("")), positions.get(tp)
        error = misnamed.get(tp.topic, "")
        info = topics.get(tp.topic)
        seen = info.id if info is not None else None
        rows.append(_row(tp, name, at, seen, ends.get(tp, -1), error, books))
    return tuple(rows)


def _row(
    tp: TopicPartition,
    name: TopicName,
    at: TransformedPosition | None,
    topic_id: TopicId | None,
    end: int,
    error: str,
    books: LinkBooks,
) -> PartitionStatus:
    why = _identity(at, topic_id)
    error = error or (f"source: {why}" if why is DELETED else "")
    error = error or (f"source: {why}; {_MADE_AGAIN}" if why else "")
    begun = at.end if at is not None else 0
    lag = max(0, end - begun) if end >= 0 else -1
    pause = books.pause_of(tp.topic)
    return PartitionStatus(
        topic=tp.topic,
        partition=tp.partition,
        target_topic=name,
        state=State.PAUSED if pause and not error else _state(at, lag, error),
        mode=MODE,
        reason="",
        producer_id=at.producer_id if at is not None else -1,
        source_end=begun,
        target_end=-1,
        lag_records=lag,
        lag_seconds=_age(lag, at),
        records=at.written if at is not None else 0,
        bytes=at.bytes if at is not None else 0,
        gaps=(),
        error=error,
        codes=why.codes if why else (),
        source_log_end=end,
        pause=pause,
        tally=_tally(at) if at is not None else (),
        cut=books.of(tp).cut,
    )


def _identity(at: TransformedPosition | None, topic_id: TopicId | None) -> Reason | None:
    """Return why the source topic is not the one that was read."""
    if topic_id is None:
        return DELETED
    return RECREATED if at is not None and at.topic_id != topic_id else None


def _state(at: TransformedPosition | None, lag: int, error: str) -> State:
    if error:
        return State.STOPPED
    if lag < 0:
        return State.NO_LEADER
    if at is None and lag:
        return State.NOT_STARTED
    return State.BEHIND if lag else State.CAUGHT_UP


def _age(lag: int, at: TransformedPosition | None) -> float:
    """Return the seconds since the position was written: an upper bound of the lag in time."""
    if lag <= 0:
        return float(lag)
    return max(0.0, (now_ms() - at.last_timestamp) / 1000) if at is not None else -1.0


def _tally(at: TransformedPosition) -> tuple[tuple[str, int], ...]:
    lost = ((LOST, at.lost),) if at.lost else ()
    return (DROPPED, at.dropped), *lost, (READ, at.read)
