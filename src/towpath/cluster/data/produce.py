"""Produce requests and responses: one batch per partition (KIP-98), acks of all replicas.

Version 13 names topics by id (KIP-516), so nothing lands in a topic that was deleted and created
again under the same name; brokers before Kafka 4.1 take names only.
"""

from __future__ import annotations

import struct
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

from towpath.cluster.data.frames import Part, ResponseReader, string, uvarint
from towpath.model.nouns import TopicId, TopicName, TopicPartition

API = 0
OLDEST, NEWEST = 7, 8
"""By name. Version 7 is the first that takes zstd (KIP-110); 8 tells which record was refused
(KIP-467)."""
BY_ID = 13

_ALL = -1
_ANSWER = struct.Struct(">ihqqq")
_REMEMBERED = 4096
"""Topic ids whose bytes are remembered: each request and each answer names them."""
_NAMED = 3
"""Number of refused records of a batch that its text names at most."""
RecordError = tuple[int, str]
"""The place in its batch of a record that was refused, and why (KIP-467)."""


@dataclass(frozen=True, slots=True)
class Produced:
    """The response for one batch; `base_offset` is set for a duplicate as well.

    Attributes:
        text: What the broker says of an error.
        records: The places in the batch of the records that the error is about, from 0, as far as
            the broker names them.
    """

    tp: TopicPartition
    error: int
    base_offset: int
    text: str = ""
    records: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ProduceResponse:
    """A produce response.

    Attributes:
        batches: The answer for each batch.
        throttle: Seconds for which the broker takes no further request on the connection.
    """

    batches: tuple[Produced, ...]
    throttle: float


def request(
    batches: Sequence[tuple[TopicPartition, Part]],
    timeout_ms: int,
    transactional_id: str | None = None,
) -> list[Part]:
    """Return a request body that refers to the batches without a copy; one batch per partition."""
    topics = _by_topic(batches)
    who = struct.pack(">h", -1) if transactional_id is None else string(transactional_id)
    parts: list[Part] = []
    head = who + struct.pack(">hii", _ALL, timeout_ms, len(topics))
    for topic, items in topics.items():
        head += string(topic) + struct.pack(">i", len(items))
        for partition, batch in items:
            parts.append(head + struct.pack(">ii", partition, len(batch)))
            parts.append(batch)
            head = b""
    return parts


def request_by_id(
    batches: Sequence[tuple[TopicPartition, Part]],
    ids: Mapping[TopicName, TopicId],
    timeout_ms: int,
) -> list[Part]:
    """Return a request body of version 13, outside of transactions; else like `request`."""
    topics = _by_topic(batches)
    parts: list[Part] = []
    head = b"\0" + struct.pack(">hi", _ALL, timeout_ms) + uvarint(len(topics) + 1)
    for topic, items in topics.items():
        head += _raw(ids[topic]) + uvarint(len(items) + 1)
        for partition, batch in items:
            parts.append(head + struct.pack(">i", partition) + uvarint(len(batch) + 1))
            parts.append(batch)
            head = b"\0"
        head += b"\0"
    return [*parts, head + b"\0"]


def response_by_id(data: memoryview, names: Mapping[TopicId, TopicName]) -> ProduceResponse:
    """Decode a response of version 13."""
    reader = ResponseReader(data, 4)
    reader.tags()
    return ProduceResponse(tuple(_topics_by_id(reader, names)), reader.int32() / 1000)


def response(data: memoryview, version: int) -> ProduceResponse:
    """Decode a response of `version` 7 or 8."""
    reader = ResponseReader(data, 4)
    return ProduceResponse(tuple(_topics_by_name(reader, version)), reader.int32() / 1000)


def _topics_by_id(reader: ResponseReader, names: Mapping[TopicId, TopicName]) -> Iterator[Produced]:
    for _ in range(reader.uvarint() - 1):
        topic = names[_topic_id(bytes(reader.take(16)))]
        for _ in range(reader.uvarint() - 1):
            partition, error, base, _, _ = reader.unpack(_ANSWER)
            wrong = [_record_error(reader) for _ in range(reader.uvarint() - 1)]
            text = _joined(reader.compact_string(), wrong)
            reader.tags()
            yield Produced(TopicPartition(topic, partition), error, base, text, _places(wrong))
        reader.tags()


@lru_cache(_REMEMBERED)
def _raw(topic_id: TopicId) -> bytes:
    return UUID(topic_id).bytes


@lru_cache(_REMEMBERED)
def _topic_id(raw: bytes) -> TopicId:
    return TopicId(str(UUID(bytes=raw)))


def _topics_by_name(reader: ResponseReader, version: int) -> Iterator[Produced]:
    for _ in range(reader.int32()):
        topic = TopicName(reader.string())
        for _ in range(reader.int32()):
            partition, error, base, _, _ = reader.unpack(_ANSWER)
            count = reader.int32() if version >= NEWEST else 0
            wrong = [(reader.int32(), reader.string()) for _ in range(count)]
            text = _joined(reader.string(), wrong) if version >= NEWEST else ""
            yield Produced(TopicPartition(topic, partition), error, base, text, _places(wrong))


def _by_topic(
    batches: Sequence[tuple[TopicPartition, Part]],
) -> Mapping[TopicName, list[tuple[int, Part]]]:
    topics: dict[TopicName, list[tuple[int, Part]]] = defaultdict(list)
    for tp, batch in batches:
        topics[tp.topic].append((tp.partition, batch))
    return topics


def _record_error(reader: ResponseReader) -> RecordError:
    error = reader.int32(), reader.compact_string()
    reader.tags()
    return error


def _joined(summary: str, wrong: Sequence[RecordError]) -> str:
    texts = [f"record {index}: {text}" for index, text in wrong[:_NAMED]]
    return "; ".join([summary, *texts] if summary else texts)


def _places(wrong: Sequence[RecordError]) -> tuple[int, ...]:
    return tuple(index for index, _ in wrong)
