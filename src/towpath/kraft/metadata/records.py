"""Decoded batches of the metadata log: metadata records and control records.

The value of a metadata record is three unsigned varints (version of this frame, api key, version of
the record), then the record (Kafka's `MetadataRecordSerde`). The key of a control record is two
int16, a version and the kind; its value is a message that begins with its version as an int16.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from towpath.cluster.data.frames import ResponseReader
from towpath.kraft.metadata.messages import (
    BY_KEY,
    KRaftVersionRecord,
    VotersRecord,
    read_body,
)
from towpath.model.errors import CorruptBatchError
from towpath.model.foreign import foreign
from towpath.wire import plain
from towpath.wire.header import CONTROL, BatchHeader, split

_FRAME = 1
_CONTROL_KEY = struct.Struct(">hh")
_CONTROL_BODIES = {5: KRaftVersionRecord, 6: VotersRecord}
"""The control records that say something of the quorum, by kind (`ControlRecordType.java`)."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One record of the metadata log.

    Attributes:
        name: Kafka's name of the record, or a number that is no record of Kafka 4.4.
        body: What it says; None where the record or its version is not known here.
    """

    offset: int
    name: str
    version: int
    body: Any


@dataclass(frozen=True, slots=True)
class LogBatch:
    """One batch of the metadata log.

    Attributes:
        data: Its bytes.
        header: What its header says.
    """

    data: memoryview
    header: BatchHeader

    @property
    def last(self) -> int:
        """Offset of the last record of the batch."""
        return self.header.base_offset + self.header.last_offset_delta

    def entries(self) -> Iterator[Entry]:
        """Yield the records of the batch, without irrelevant control records.

        Raises:
            CorruptBatchError: The bytes are no batch of such records.
        """
        is_control = self.header.attributes & CONTROL
        for record in plain.decode(self.data):
            try:
                entry = _control(record) if is_control else _entry(record)
            except (ValueError, IndexError, struct.error, AssertionError) as error:
                raise CorruptBatchError(
                    f"the record at offset {record.offset} of the metadata log is not one of"
                    f" Kafka's ({foreign(error)})"
                ) from error
            if entry is not None:
                yield entry


def batches(data: bytes) -> Iterator[LogBatch]:
    """Yield the complete batches in a response or a snapshot.

    Raises:
        CorruptBatchError: The bytes are no batches.
    """
    for batch in split(memoryview(data)):
        yield LogBatch(batch, BatchHeader.read(batch))


def _entry(record: plain.Record) -> Entry:
    data = record.value or b""
    reader = ResponseReader(memoryview(data))
    frame, key, version = (reader.uvarint() for _ in range(3))
    if frame != _FRAME:
        raise ValueError(f"frame version {frame}, {_FRAME} is known")
    kind = BY_KEY.get(key)
    if kind is None:
        return Entry(record.offset, f"record {key}", version, None)
    known = version <= kind.max_version
    return Entry(
        record.offset,
        kind.__name__,
        version,
        read_body(kind, data, reader.at, version) if known else None,
    )


def _control(record: plain.Record) -> Entry | None:
    version, kind = _CONTROL_KEY.unpack_from(record.key or b"")
    body = _CONTROL_BODIES.get(kind)
    if body is None:
        return None
    return Entry(record.offset, body.__name__, version, read_body(body, record.value or b"", 0, 0))
