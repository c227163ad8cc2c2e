"""The consumer groups for which transactional producers committed, read from the source's log.

Brokers tell only in which partition of `__consumer_offsets` a producer wrote, where the offsets of
many groups lie by their hashes. The records there name the group (Kafka's `OffsetCommitKey`).
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping, Set

from towpath.cluster.admin import Admin
from towpath.cluster.data.client import Client
from towpath.model.errors import ClusterError, CorruptBatchError
from towpath.model.nouns import ProducerId, Side, TopicPartition
from towpath.runtime.deadline import Deadline
from towpath.settings import ClusterConfig
from towpath.wire import plain
from towpath.wire.header import CONTROL, BatchHeader, split

CommittedGroups = Mapping[TopicPartition, Mapping[ProducerId, Set[str]]]
"""The names of groups, by the partition that keeps their offsets and by producer."""
_PATIENCE = 10.0
"""Seconds for the reading of all these partitions."""
_BYTES = 1 << 20
_NEWEST_OF_OFFSETS = 1
"""The newest version of a key that names an offset; later ones name groups and their members."""


def committed_groups(
    config: ClusterConfig, source: Admin, producers: Mapping[TopicPartition, Set[ProducerId]]
) -> CommittedGroups:
    """Return the consumer groups for which each transactional producer committed offsets.

    Args:
        config: How the source is reached.
        source: Its control plane.
        producers: The producers, by partition of `__consumer_offsets`.

    Returns:
        What is known. A partition that cannot be read wholly in time, or not with the rights of
        the login, is missing.
    """
    found: dict[TopicPartition, Mapping[ProducerId, Set[str]]] = {}
    deadline = Deadline.after(_PATIENCE)
    with Client(config, Side.SOURCE, source) as client:
        for tp, ids in producers.items():
            try:
                found[tp] = _of_partition(source, client, tp, ids, deadline)
            except (ClusterError, CorruptBatchError, TimeoutError):
                continue
    return found


def _of_partition(
    source: Admin, client: Client, tp: TopicPartition, ids: Set[ProducerId], deadline: Deadline
) -> dict[ProducerId, set[str]]:
    groups: dict[ProducerId, set[str]] = defaultdict(set)
    at, end = source.offsets.earliest([tp]).sure(tp), source.offsets.latest([tp]).sure(tp)
    while at < end:
        if deadline.over:
            raise TimeoutError
        records = client.fetch(tp, at, max_bytes=_BYTES)
        before = at
        for batch in split(records.batches):
            header = BatchHeader.read(batch)
            at = header.base_offset + header.last_offset_delta + 1
            if header.producer_id in ids and not header.attributes & CONTROL:
                groups[ProducerId(header.producer_id)].update(_groups(batch))
        if at == before:
            raise TimeoutError
    return groups


def _groups(batch: memoryview) -> Iterator[str]:
    """Yield the groups whose offsets a batch holds."""
    for record in plain.decode(batch):
        key = record.key or b""
        if len(key) >= 4 and struct.unpack_from(">h", key)[0] <= _NEWEST_OF_OFFSETS:
            (size,) = struct.unpack_from(">h", key, 2)
            yield key[4 : 4 + size].decode(errors="replace")
