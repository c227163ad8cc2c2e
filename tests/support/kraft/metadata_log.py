"""A metadata log without controllers: batches of records, as a leader answers with them."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from typing import Any

from towpath.cluster.data.frames import uvarint
from towpath.kraft.facts.seen import MetadataLogSeen
from towpath.kraft.metadata.log_image import LogImage
from towpath.kraft.metadata.messages import RECORDS
from towpath.kraft.metadata.records import batches
from towpath.wire.header import CONTROL, seal
from towpath.wire.plain import Record, encode

_FRAME = 1
"""Version of the frame around a record."""


def value_of(body: Any, version: int) -> bytes:
    """Return the value of a metadata record, as a controller writes it."""
    numbers = (_FRAME, body.json["apiKey"], version)
    encoded: bytes = body.encode(version, header=False)
    return b"".join(map(uvarint, numbers)) + encoded


def value(name: str, version: int = 0, /, **fields: Any) -> bytes:
    """Return the value of a metadata record."""
    return value_of(RECORDS[name](version=version, **fields), version)


def batch(values: Iterable[bytes], base: int = 0, epoch: int = 1) -> bytes:
    """Return a batch of metadata records."""
    records = [Record(None, each, timestamp=1) for each in values]
    return bytes(_of_epoch(encode(records, base_offset=base), epoch))


def control(kind: int, body: bytes, base: int = 0, epoch: int = 1) -> bytes:
    """Return a control batch of one record."""
    data = encode([Record(struct.pack(">hh", 0, kind), body, timestamp=1)], base_offset=base)
    struct.pack_into(">h", data, 21, CONTROL)
    return bytes(_of_epoch(data, epoch))


def seen_of(data: bytes) -> MetadataLogSeen:
    """Return what batches say together."""
    image, end = LogImage(), 0
    for each in batches(data):
        image.apply(each)
        end = each.last + 1
    return image.seen(end)


def said(*values: bytes) -> MetadataLogSeen:
    """Return what these records say together, in one batch."""
    return seen_of(batch(values))


def _of_epoch(data: bytearray, epoch: int) -> bytearray:
    struct.pack_into(">i", data, 12, epoch)
    return seal(data)
