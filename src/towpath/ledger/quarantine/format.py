"""Records of the quarantine topic: quarantined records, and marks of their replay. Pure.

The key of each is the origin of a source record, as a JSON array: link, source topic, partition,
offset, and our private producer id, which names the incarnation of the mirror partition. A source
record that was set aside twice, by a copier that was killed in between, therefore counts once; what
was set aside before a topic was created again, on either side, is another record.

A record that was set aside keeps its own value and its own headers, byte for byte. Two headers of
ours stand before these, whatever the names of its own are: `towpath-quarantine`, a JSON object with
the reason and the record's own timestamp, and `towpath-quarantine-key` with its own key. The
timestamp of the record in the quarantine topic is when it was set aside, so that retention counts
from then, and no limit on timestamps refuses it. docs/quarantine.md tells the same to people.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from pydantic import TypeAdapter, ValidationError

from towpath.model.nouns import LinkName, ProducerId, SourceOffset, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode, as_data, from_data
from towpath.wire import plain

HEADER = b"towpath-quarantine"
KEY_HEADER = b"towpath-quarantine-key"
_FORMAT = 1


class QuarantineKey(NamedTuple):
    """The origin of a quarantined record: a source offset of one incarnation of a partition."""

    link: LinkName
    topic: TopicName
    partition: int
    offset: SourceOffset
    producer_id: ProducerId

    @property
    def tp(self) -> TopicPartition:
        """The source partition."""
        return TopicPartition(self.topic, self.partition)

    def encode(self) -> bytes:
        """Encode the key of a quarantine record."""
        return json.dumps(self, separators=(",", ":")).encode()

    def __str__(self) -> str:
        return f"{self.tp}@{self.offset}"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedRecord:
    """A source record that was set aside in the quarantine topic.

    Attributes:
        key: Where it came from.
        why: Why it was set aside.
        at: When, in ms since 1970.
        record: Its own key, value, headers, timestamp and source offset.
        change: The digest of the change that was made to it already, "" for none.
    """

    key: QuarantineKey
    why: Reason
    at: int
    record: plain.Record
    change: str = ""

    def encode(self) -> plain.Record:
        """Encode the quarantined record as a record of the quarantine topic."""
        told = _Aside(
            v=_FORMAT,
            what="record",
            timestamp=self.record.timestamp,
            reason=as_data(self.why),
            why=str(self.why),
            change=self.change,
        )
        ours = (HEADER, _json_of(told)), (KEY_HEADER, self.record.key)
        headers = (*ours, *self.record.headers)
        return plain.Record(self.key.encode(), self.record.value, headers, self.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayMark:
    """A mark that a quarantined record was replayed into a mirror topic.

    Attributes:
        key: The origin of the record.
        target: The partition that it was written to.
        user: Who replayed it.
        host: Where.
        at: When, in ms since 1970.
    """

    key: QuarantineKey
    target: TopicPartition
    user: str
    host: str
    at: int

    def encode(self) -> plain.Record:
        """Return the mark as a record for the quarantine topic."""
        told = _Mark(
            v=_FORMAT,
            what="replayed",
            topic=self.target.topic,
            partition=self.target.partition,
            user=self.user,
            host=self.host,
        )
        return plain.Record(self.key.encode(), None, ((HEADER, _json_of(told)),), self.at)


@dataclass(frozen=True, kw_only=True)
class _Aside:
    v: int
    what: Literal["record"]
    timestamp: int
    reason: Mapping[str, Any]
    why: str
    change: str


@dataclass(frozen=True, kw_only=True)
class _Mark:
    v: int
    what: Literal["replayed"]
    topic: str
    partition: int
    user: str
    host: str


_told: TypeAdapter[_Aside | _Mark] = TypeAdapter(_Aside | _Mark)
_key: TypeAdapter[QuarantineKey] = TypeAdapter(QuarantineKey)


def decode(record: plain.Record) -> QuarantinedRecord | ReplayMark | None:
    """Decode a record of the quarantine topic into a quarantined record or a replay mark.

    Returns:
        `None` for a record that this version did not define.
    """
    if not record.headers or record.headers[0][0] != HEADER:
        return None
    try:
        key = _key.validate_json(record.key or b"", strict=False)
        told = _told.validate_json(record.headers[0][1] or b"")
    except ValidationError:
        return None
    if told.v > _FORMAT:
        return None
    if isinstance(told, _Mark):
        target = TopicPartition(TopicName(told.topic), told.partition)
        return ReplayMark(
            key=key, target=target, user=told.user, host=told.host, at=record.timestamp
        )
    if len(record.headers) < 2 or record.headers[1][0] != KEY_HEADER:
        return None
    own = plain.Record(
        record.headers[1][1], record.value, record.headers[2:], told.timestamp, key.offset
    )
    why = from_data(told.reason) or Reason.of(ReasonCode.TOLD, text=told.why)
    return QuarantinedRecord(key=key, why=why, at=record.timestamp, record=own, change=told.change)


def _json_of(told: _Aside | _Mark) -> bytes:
    return json.dumps(asdict(told), separators=(",", ":")).encode()
