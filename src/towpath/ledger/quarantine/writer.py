"""Writing of records to the quarantine topic. Blocking."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from towpath.cluster.admin import Admin
from towpath.cluster.codes import TOO_LARGE
from towpath.cluster.data.client import Client
from towpath.ledger.quarantine.format import QuarantinedRecord
from towpath.model.errors import RefusedError
from towpath.model.nouns import QUARANTINE, TopicPartition
from towpath.wire import plain
from towpath.wire.codec import NONE, ZSTD

PLACE = TopicPartition(QUARANTINE, 0)
"""Records of all links are in one partition, so that they and their marks have one order."""

CONFIGS = {
    "cleanup.policy": "delete",
    # It may hold the only copy of a record, once the source's retention has deleted it.
    "retention.ms": "-1",
    "retention.bytes": "-1",
    # The limit of a whole request (socket.request.max.bytes) by default.
    "max.message.bytes": "104857600",
    "message.timestamp.type": "CreateTime",
}
_TOGETHER = 512 << 10
"""Bytes of records after which a batch is full."""
_SMALL = 1024
"""Bytes up to which a batch is not compressed."""


def prepare(admin: Admin) -> None:
    """Create the quarantine topic, if it does not exist.

    Raises:
        ClusterError: The target refuses it, or cannot be asked.
    """
    if admin.topics.find(QUARANTINE) is None:
        admin.topics.create_small(QUARANTINE, CONFIGS)


def put(client: Client, records: Sequence[QuarantinedRecord]) -> None:
    """Append records in order; they are on all in-sync replicas on return.

    Records that are too large together are written in smaller batches.

    Raises:
        RefusedError: The target refuses a record; `records` has its place among all, as far as that
            can be told. It may have others.
        ClusterError: The target did not answer; it may have some of them.
    """
    made = [each.encode() for each in records]
    for first, end in _batches(made):
        _append(client, made, first, end)


def _append(client: Client, made: Sequence[plain.Record], first: int, end: int) -> None:
    """Append the records at the places [first, end), in smaller batches if they are too large."""
    some = made[first:end]
    try:
        client.produce(PLACE, plain.encode(some, ZSTD if _size(some) > _SMALL else NONE))
    except RefusedError as error:
        if error.error not in TOO_LARGE or len(some) == 1:
            error.records = tuple(first + each for each in error.records or (0,))
            raise
        middle = (first + end) // 2
        _append(client, made, first, middle)
        _append(client, made, middle, end)


def _batches(made: Sequence[plain.Record]) -> Iterator[tuple[int, int]]:
    """Yield the places [first, end) of records that go together."""
    first = size = 0
    for place, record in enumerate(made):
        if place > first and size + record.size > _TOGETHER:
            yield first, place
            first, size = place, 0
        size += record.size
    if made:
        yield first, len(made)


def _size(records: Sequence[plain.Record]) -> int:
    return sum(each.size for each in records)
