"""Fetch requests and responses, with incremental sessions (KIP-227).

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
    Part,
    ResponseReader,
    compact_array,
    compact_string,
    string,
)
from towpath.model.nouns import NO_TOPIC_ID, TopicId, TopicName, TopicPartition

API = 1
BY_NAME, DIVERGING, BY_ID = 11, 12, 13
SESSION_ID_NOT_FOUND, INVALID_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR = 70, 71, 106
_SESSION_ERRORS = (SESSION_ID_NOT_FOUND, INVALID_SESSION_EPOCH, FETCH_SESSION_TOPIC_ID_ERROR)
_LAST_EPOCH = (1 << 31) - 1
_ANY = -1
"""Leader epoch of a request that does not check the leader epoch."""

_HEAD = struct.Struct(">iiiibii")
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
    """The answer about one partition; its records are at [start, end) of the response."""

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


def version_for(newest: int, *, ids: bool) -> int:
    """Return the version for a broker that takes versions up to `newest`.

    Args:
        newest: What the broker told.
        ids: Whether the ids of all topics are known.
    """
    return max(BY_NAME, min(newest, BY_ID if ids else DIVERGING))


class FetchSession:
    """The fetch session of one connection: requests name only changes, responses only news.

    Attributes:
        rack: Our rack; the leader then names a replica in it (KIP-392) instead of answering.
        max_bytes: About how large an answer may be; one batch comes even if it is larger (KIP-74).
        throttle: Seconds for which the broker takes no further request, by its last answer.
    """

    def __init__(
        self, version: int, *, max_bytes: int, committed: bool = True, rack: str = ""
    ) -> None:
        self.version = version
        self.max_bytes = max_bytes
        self._committed = committed
        self.rack = rack
        self.throttle = 0.0
        self._wanted: dict[TopicPartition, FetchFrom] = {}
        self._changed: set[TopicPartition] = set()
        self._dropped: dict[TopicPartition, TopicId] = {}
        self._names: dict[TopicId, TopicName] = {}
        self.reset()

    def reset(self) -> None:
        """Reset the session; the next request is a full one."""
        self._id = self._epoch = 0
        self._changed = set(self._wanted)
        self._dropped = {}

    def want(self, tp: TopicPartition, position: FetchFrom) -> None:
        """Ask for `tp` from `position` in the next request and all after it.

        If its topic was made again, the broker is told to forget the earlier topic, which it would
        go on to answer for otherwise, with INCONSISTENT_TOPIC_ID.
        """
        known = self._wanted.get(tp)
        if known is not None and known.topic_id != position.topic_id:
            self._dropped[tp] = known.topic_id
        if self._dropped.get(tp) == position.topic_id:
            del self._dropped[tp]
        elif tp in self._dropped:
            self._names.pop(self._dropped[tp], None)
        self._wanted[tp] = position
        self._names[position.topic_id] = tp.topic
        self._changed.add(tp)

    def drop(self, tp: TopicPartition) -> None:
        """Remove `tp` from the session."""
        gone = self._wanted.pop(tp, None)
        self._changed.discard(tp)
        if gone is not None:
            self._dropped[tp] = gone.topic_id

    def __len__(self) -> int:
        return len(self._wanted)

    @property
    def flexible(self) -> bool:
        """Whether requests and responses have tags, in their headers, too (KIP-482)."""
        return self.version >= DIVERGING

    def request(self, wait_ms: int) -> list[Part]:
        """Return the body of the next request; it waits up to `wait_ms` for the first byte."""
        head = _HEAD.pack(-1, wait_ms, 1, self.max_bytes, self._committed, self._id, self._epoch)
        changed = {tp: self._wanted[tp] for tp in self._changed}
        dropped = self._dropped
        self._changed, self._dropped = set(), {}
        if self.flexible:
            return [head + self._body(changed, dropped)]
        return [head + _oldest_body(changed, dropped, self.rack)]

    def response(self, data: memoryview) -> list[Fetched] | None:
        """Read a response; `None` when the session was lost and the next request is a full one.

        An unknown topic id is passed over: its partition was dropped meanwhile. An error of the
        answer as a whole is told of each partition that is wanted.
        """
        reader = ResponseReader(data, 4)
        if self.flexible:
            reader.tags()
        self.throttle = reader.int32() / 1000
        error, self._id = reader.int16(), reader.int32()
        if error:
            self.reset()
            if error in _SESSION_ERRORS:
                return None
            return [
                Fetched(
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
                for tp in self._wanted
            ]
        self._epoch = 1 if self._epoch == _LAST_EPOCH else self._epoch + 1
        if not self._id:
            self.reset()
        return list(self._topics(reader) if self.flexible else _oldest_topics(reader))

    def _topics(self, reader: ResponseReader) -> Iterable[Fetched]:
        for _ in range(reader.uvarint() - 1):
            name = self._name(reader)
            for _ in range(reader.uvarint() - 1):
                answer = _partition(reader, name or TopicName(""))
                if name is not None:
                    yield answer
            reader.tags()

    def _name(self, reader: ResponseReader) -> TopicName | None:
        if self.version < BY_ID:
            return TopicName(reader.compact_string())
        return self._names.get(TopicId(str(UUID(bytes=bytes(reader.take(16))))))

    def _body(
        self,
        changed: Mapping[TopicPartition, FetchFrom],
        dropped: Mapping[TopicPartition, TopicId],
    ) -> bytes:
        topics = compact_array(
            self._key(topic, changed[partitions[0]].topic_id)
            + compact_array(_wanted(tp, changed[tp]) for tp in partitions)
            + b"\0"
            for topic, partitions in _by_topic(changed).items()
        )
        gone = compact_array(
            self._key(topic, dropped[partitions[0]])
            + compact_array(struct.pack(">i", tp.partition) for tp in partitions)
            + b"\0"
            for topic, partitions in _by_topic(dropped).items()
        )
        return topics + gone + compact_string(self.rack) + b"\0"

    def _key(self, topic: TopicName, number: TopicId) -> bytes:
        return compact_string(topic) if self.version < BY_ID else UUID(number).bytes


def _by_topic(
    partitions: Iterable[TopicPartition],
) -> Mapping[TopicName, list[TopicPartition]]:
    grouped: dict[TopicName, list[TopicPartition]] = defaultdict(list)
    for tp in partitions:
        grouped[tp.topic].append(tp)
    return grouped


def _oldest_body(
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


def _oldest_topics(reader: ResponseReader) -> Iterable[Fetched]:
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
