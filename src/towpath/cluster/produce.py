"""Produce requests and responses: one batch per partition (KIP-98), acks of all replicas."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from towpath.cluster.frames import Part, Reader, string
from towpath.model.nouns import TopicName, TopicPartition

API = 0
OLDEST, NEWEST = 7, 8
"""Version 7 is the first that takes zstd (KIP-110); 8 tells which record was refused (KIP-467)."""

_ANSWER = struct.Struct(">ihqqq")


@dataclass(frozen=True, slots=True)
class Produced:
    """What a broker said of one batch; `base_offset` is where it lies, also for a duplicate."""

    tp: TopicPartition
    error: int
    base_offset: int
    log_start: int
    text: str = ""


def request(
    batches: Sequence[tuple[TopicPartition, Part]],
    timeout_ms: int,
    transactional_id: str | None = None,
) -> list[Part]:
    """Return a body that holds each batch once, uncopied; partitions must differ."""
    topics: dict[TopicName, list[tuple[int, Part]]] = {}
    for tp, batch in batches:
        topics.setdefault(tp.topic, []).append((tp.partition, batch))
    who = struct.pack(">h", -1) if transactional_id is None else string(transactional_id)
    parts: list[Part] = []
    head = who + struct.pack(">hii", -1, timeout_ms, len(topics))
    for topic, items in topics.items():
        head += string(topic) + struct.pack(">i", len(items))
        for partition, batch in items:
            parts.append(head + struct.pack(">ii", partition, len(batch)))
            parts.append(batch)
            head = b""
    return parts


def response(data: memoryview, version: int) -> Iterable[Produced]:
    """Read a response of `version` 7 or 8."""
    reader = Reader(data, 4)
    for _ in range(reader.int32()):
        topic = TopicName(reader.string())
        for _ in range(reader.int32()):
            partition, error, base, _time, start = reader.unpack(_ANSWER)
            text = _record_errors(reader) if version >= NEWEST else ""
            yield Produced(TopicPartition(topic, partition), error, base, start, text)


def _record_errors(reader: Reader) -> str:
    texts = []
    for _ in range(reader.int32()):
        index, text = reader.int32(), reader.string()
        texts.append(f"record {index}: {text}")
    summary = reader.string()
    return "; ".join([summary, *texts[:3]] if summary else texts[:3])
