"""Writes records to the quarantine topic. Blocking."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.ledger.quarantine.format import QuarantinedRecord
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
    """Append records in order. All in-sync replicas have them when this returns.

    Raises:
        ClusterError: The target refuses a record, or did not answer; it may have some of them.
    """
    for batch in _batches(records):
        client.produce(PLACE, batch)


def _batches(records: Sequence[QuarantinedRecord]) -> Iterator[bytearray]:
    some: list[plain.Record] = []
    size = 0
    for each in records:
        record = each.encode()
        if some and size + record.size > _TOGETHER:
            yield _batch(some, size)
            some, size = [], 0
        some.append(record)
        size += record.size
    if some:
        yield _batch(some, size)


def _batch(records: Sequence[plain.Record], size: int) -> bytearray:
    return plain.encode(records, ZSTD if size > _SMALL else NONE)
