"""Partition parts of Fetch requests and responses, versions 11 to 13. Pure.

Version 13 (Kafka 3.1) names topics by id (KIP-516), so a recreated topic is never mistaken for the
old one. From version 12 (Kafka 2.7) on the broker tells where its log diverges from what was
fetched (KIP-595), so neither is a truncated one. Version 11 is for brokers before.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from towpath.cluster.data.frames import (
    ResponseReader,
    compact_array,
    compact_string,
    string,
)
from towpath.model.nouns import NO_TOPIC_ID, TopicId, TopicName, TopicPartition

BY_NAME, DIVERGING, BY_ID = 11, 12, 13
_ANY = -1
"""Leader epoch of a request that does not check the leader epoch."""

_PARTITION_11 = struct.Struct(">iiqqi")
_PARTITION_12 = struct.Struct(">iiqiqi")
_ANSWER = struct.Struct(">ihqqq")
_ABORTED = struct.Struct(">qq")


@dataclass(frozen=True, slots=True)
class FetchFrom:
    """The position from which to fetch one partition.

    `last_epoch` is the leader epoch of the batch before `offset`, or -1 when unknown (then
    truncation shows by offset alone).
    """

    offset: int
    max_bytes: int
    topic_id: TopicId = NO_TOPIC_ID
    last_epoch: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """The response for one partition; its records are at [start, end) of the response."""

    tp: TopicPartition
    error: int
    high_watermark: int
    last_stable: int
    log_start: int
    aborted: tuple[tuple[int, int], ...]
    preferred_replica: int
    start: int
    end: int
    diverging: tuple[int, int] | None = None
    """Epoch and end offset up to which the broker's log and ours agree."""


Positions = Mapping[TopicPartition, FetchFrom]
Dropped = Mapping[TopicPartition, TopicId]


def failed(tp: TopicPartition, error: int) -> Fetched:
    """Return the response for a partition when the broker refused the whole request."""
    return Fetched(
        tp=tp,
        error=error,
        high_watermark=-1,
        last_stable=-1,
        log_start=-1,
        aborted=(),
        preferred_replica=-1,
        start=0,
        end=0,
    )


def written(version: int, changed: Positions, dropped: Dropped, rack: str) -> bytes:
    """Return the encoded partitions of a request, followed by the rack.

    Args:
        version: The version of the request.
        changed: Where to fetch from, for partitions that are new or have moved.
        dropped: Partitions that the broker shall forget, with their topic ids.
        rack: Our rack, "" for none.
    """
    if version < DIVERGING:
        return _named(changed, dropped, rack)
    topics = compact_array(
        _topic(version, topic, changed[tps[0]].topic_id)
        + compact_array(_wanted(tp, changed[tp]) for tp in tps)
        + b"\0"
        for topic, tps in _by_topic(changed).items()
    )
    gone = compact_array(
        _topic(version, topic, dropped[tps[0]])
        + compact_array(struct.pack(">i", tp.partition) for tp in tps)
        + b"\0"
        for topic, tps in _by_topic(dropped).items()
    )
    return topics + gone + compact_string(rack) + b"\0"


def read(
    version: int, reader: ResponseReader, names: Mapping[TopicId, TopicName]
) -> Iterable[Fetched]:
    """Yield the partitions in a response; those of an unknown topic id are skipped."""
    if version < DIVERGING:
        yield from _read_named(reader)
        return
    for _ in range(reader.uvarint() - 1):
        name = _name(version, reader, names)
        for _ in range(reader.uvarint() - 1):
            answer = _partition(reader, name or TopicName(""))
            if name is not None:
                yield answer
        reader.tags()


def _topic(version: int, topic: TopicName, number: TopicId) -> bytes:
    return compact_string(topic) if version < BY_ID else UUID(number).bytes


def _name(
    version: int, reader: ResponseReader, names: Mapping[TopicId, TopicName]
) -> TopicName | None:
    if version < BY_ID:
        return TopicName(reader.compact_string())
    return names.get(TopicId(str(UUID(bytes=bytes(reader.take(16))))))


def _by_topic(
    partitions: Iterable[TopicPartition],
) -> Mapping[TopicName, list[TopicPartition]]:
    grouped: dict[TopicName, list[TopicPartition]] = defaultdict(list)
    for tp in partitions:
        grouped[tp.topic].append(tp)
    return grouped


def _named(
    changed: Mapping[TopicPartition, FetchFrom],
    dropped: Mapping[TopicPartition, TopicId],
    rack: str,
) -> bytes:
    out = bytearray()
    topics = _by_topic(changed)
    out += struct.pack(">i", len(topics))
    for topic, partitions in topics.items():
        out += string(topic) + struct.pack(">i", len(partitions))
        for tp in partitions:
            at = changed[tp]
            out += _PARTITION_11.pack(tp.partition, _ANY, at.offset, -1, at.max_bytes)
    gone = _by_topic(dropped)
    out += struct.pack(">i", len(gone))
    for topic, partitions in gone.items():
        numbers = [tp.partition for tp in partitions]
        out += string(topic) + struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)
    return bytes(out) + string(rack)


def _wanted(tp: TopicPartition, at: FetchFrom) -> bytes:
    wanted = tp.partition, _ANY, at.offset, at.last_epoch, -1, at.max_bytes
    return _PARTITION_12.pack(*wanted) + b"\0"


def _read_named(reader: ResponseReader) -> Iterable[Fetched]:
    for _ in range(reader.int32()):
        topic = TopicName(reader.string())
        for _ in range(reader.int32()):
            partition, error, high, stable, start = reader.unpack(_ANSWER)
            aborted = tuple(reader.unpack(_ABORTED) for _ in range(max(0, reader.int32())))
            preferred, size = reader.int32(), max(0, reader.int32())
            at = reader.at
            reader.take(size)
            yield Fetched(
                tp=TopicPartition(topic, partition),
                error=error,
                high_watermark=high,
                last_stable=stable,
                log_start=start,
                aborted=aborted,  # type: ignore[arg-type]  # pairs by _ABORTED
                preferred_replica=preferred,
                start=at,
                end=at + size,
            )


def _partition(reader: ResponseReader, topic: TopicName) -> Fetched:
    partition, error, high, stable, start = reader.unpack(_ANSWER)
    aborted = []
    for _ in range(max(0, reader.uvarint() - 1)):
        producer, first = reader.unpack(_ABORTED)
        aborted.append((producer, first))
        reader.tags()
    preferred, size = reader.int32(), max(0, reader.uvarint() - 1)
    at = reader.at
    reader.take(size)
    tags = reader.tags()
    diverging = struct.unpack_from(">iq", tags[0]) if 0 in tags else None
    return Fetched(
        tp=TopicPartition(topic, partition),
        error=error,
        high_watermark=high,
        last_stable=stable,
        log_start=start,
        aborted=tuple(aborted),
        preferred_replica=preferred,
        start=at,
        end=at + size,
        diverging=diverging if diverging and diverging[1] >= 0 else None,
    )
