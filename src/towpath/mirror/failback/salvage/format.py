"""Records of a salvage topic: what was salvaged, and marks of its replay. Pure.

A salvaged record keeps its key, value, timestamp and headers, byte by byte. Before its own headers
stand those of `ORIGIN`, in this order, whatever the names of its own are. They stay when it is
replayed, so a record tells for ever where it was written first.

A mark has neither key nor value, and the header `MARK`: a JSON object with the salvage topic's
offsets [first, end) that were replayed, where to, when and by whom. It is written in one
transaction with the records that were replayed. docs/howto/failback.md tells the same to people.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from towpath.model.nouns import ClusterId, TopicId, TopicName, TopicPartition
from towpath.wire import plain

SUFFIX = ".salvage"
MARK = b"towpath.salvage.replayed"
_NAMES = ("cluster", "topic", "topic.id", "partition", "offset", "timestamp")
ORIGIN = tuple(f"towpath.salvage.{name}".encode() for name in _NAMES)
"""The headers of a salvaged record: texts, numbers in decimal."""
_LONGEST = 249
"""Characters of the longest topic name that Kafka allows."""


class SalvageOrigin(NamedTuple):
    """Where a salvaged record was written.

    Attributes:
        cluster: The id of the cluster.
        topic: The topic there.
        topic_id: Its id; a topic that was made again has another one.
        partition: The partition.
        offset: The offset.
    """

    cluster: ClusterId
    topic: TopicName
    topic_id: TopicId
    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}@{self.offset}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SalvagedRecord:
    """A record of a salvage topic.

    Attributes:
        origin: Where it was written first.
        record: The record as it was there, with its offset there.
        offset: Its offset in the salvage topic, -1 if it is not there yet.
    """

    origin: SalvageOrigin
    record: plain.Record
    offset: int = -1

    def encode(self) -> plain.Record:
        """Return the record in the form that salvage topics hold and a replay writes."""
        own = self.record
        told = (*map(str, self.origin), str(own.timestamp))
        headers = zip(ORIGIN, (text.encode() for text in told), strict=True)
        return plain.Record(own.key, own.value, (*headers, *own.headers), own.timestamp)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayedMark:
    """A mark that records of a salvage topic were replayed.

    Attributes:
        topic: The topic that they were written to.
        partition: The partition.
        first: The first offset of the salvage topic that was replayed; `end`, the one behind the
            last.
        records: How many records these were.
        user: Who did it; `host`, where; `at`, when, in ms since 1970.
    """

    topic: TopicName
    partition: int
    first: int
    end: int
    records: int
    user: str
    host: str
    at: int

    @property
    def target(self) -> TopicPartition:
        """The partition that they were written to."""
        return TopicPartition(self.topic, self.partition)

    def encode(self) -> plain.Record:
        """Return the mark as a record of the salvage topic."""
        told = json.dumps(asdict(self), separators=(",", ":")).encode()
        return plain.Record(None, None, ((MARK, told),), self.at)


_mark: TypeAdapter[ReplayedMark] = TypeAdapter(ReplayedMark)


def decode(record: plain.Record) -> SalvagedRecord | ReplayedMark | None:
    """Decode a record of a salvage topic; `None` if Towpath did not write the record."""
    if len(record.headers) == 1 and record.headers[0][0] == MARK:
        return _mark_of(record.headers[0][1] or b"")
    ours, own = record.headers[: len(ORIGIN)], record.headers[len(ORIGIN) :]
    if tuple(name for name, _ in ours) != ORIGIN:
        return None
    return _record_of([value or b"" for _, value in ours], own, record)


def _mark_of(told: bytes) -> ReplayedMark | None:
    try:
        return _mark.validate_json(told)
    except ValidationError:
        return None


def _record_of(
    told: Sequence[bytes], own: tuple[plain.Header, ...], record: plain.Record
) -> SalvagedRecord | None:
    try:
        cluster, topic, topic_id, *numbers = (each.decode() for each in told)
        partition, offset, timestamp = map(int, numbers)
    except ValueError:  # UnicodeDecodeError is one, too
        return None
    origin = SalvageOrigin(
        ClusterId(cluster), TopicName(topic), TopicId(topic_id), partition, offset
    )
    was = plain.Record(record.key, record.value, own, timestamp, offset)
    return SalvagedRecord(origin=origin, record=was, offset=record.offset)


def salvage_topic(topic: TopicName) -> TopicName:
    """Return the name of the salvage topic of a topic on the same cluster.

    A name that would be too long is cut.
    """
    return TopicName(f"{topic[: _LONGEST - len(SUFFIX)]}{SUFFIX}")
