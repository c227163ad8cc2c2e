"""Conversion of message sets of magic 0 and 1 (before Kafka 0.11) to batches of magic 2.

A message: offset i64, size i32, crc u32 (CRC-32 of what follows), magic i8, attributes i8 (bits
0-2 codec, 3 LogAppendTime), timestamp i64 (magic 1 only), key and value with i32 lengths. A
message with a codec is a wrapper: its value is a compressed message set. The offset of a wrapper
is that of its last message; messages inside have offsets relative to the first in magic 1,
absolute ones in magic 0 (Kafka protocol page, "Old Message Format"; KIP-31, KIP-32).

Brokers with such messages are rare, so this code is written for readability, not speed.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby, pairwise

from towpath.model.errors import CorruptBatchError
from towpath.wire import plain
from towpath.wire.codec import LZ4, NONE, ZSTD, compress, decompress
from towpath.wire.header import CODEC_MASK, LOG_APPEND_TIME, MAGIC, sealed

_ENTRY = struct.Struct(">qiIbb")  # offset, size, crc, magic, attributes
_BEFORE_SIZE = 12
_UP_TO_MAGIC = 17
"""Bytes up to and including the magic, which has the same position in all formats."""
_BEFORE_CRC = 16
_LAST_DELTA = (1 << 31) - 1
_U32 = (1 << 32) - 1

_SHORTEST_FRAME = 7
_CONTENT_SIZE, _DICTIONARY = 0x08, 0x01
"""Flags of an lz4 frame: eight more bytes in its header, or four."""

_PRIME_1, _PRIME_2, _PRIME_3, _PRIME_4, _PRIME_5 = (
    2654435761,
    2246822519,
    3266489917,
    668265263,
    374761393,
)
"""Constants of xxHash32, the checksum of the header of lz4 frames."""


@dataclass(frozen=True, slots=True)
class _Message:
    magic: int
    attributes: int
    record: plain.Record

    @property
    def codec(self) -> int:
        return self.attributes & CODEC_MASK

    @property
    def time_type(self) -> int:
        return self.attributes & LOG_APPEND_TIME

    @property
    def group(self) -> tuple[int, int, int]:
        """A key that is equal for messages which may share one new batch."""
        return self.codec, self.time_type, self.record.timestamp if self.time_type else 0


def modernise(data: memoryview) -> bytearray:
    """Convert a fetch response to batches of magic 2, at the same offsets.

    An incomplete entry at the end is left out, as in any fetch response.

    Raises:
        CorruptBatchError: An entry is neither a message nor a batch.
    """
    out = bytearray()
    old_from = at = 0
    while at + _UP_TO_MAGIC <= len(data):
        (size,) = struct.unpack_from(">i", data, at + 8)
        end, magic = at + _BEFORE_SIZE + size, data[at + _UP_TO_MAGIC - 1]
        if end < at + _UP_TO_MAGIC or magic > MAGIC:
            raise CorruptBatchError(f"magic {magic} or a bad size at byte {at}")
        if end > len(data):
            break
        if magic == MAGIC:
            out += b"".join(convert(data[old_from:at])) + data[at:end]
            old_from = end
        at = end
    return out + b"".join(convert(data[old_from:at]))


def convert(message_set: memoryview) -> list[bytearray]:
    """Convert a message set to batches of magic 2, at the same offsets.

    A wrapper becomes a batch with its codec. Neighbours without a wrapper become one batch.
    Messages of magic 0 have no timestamp and get -1. Messages with LogAppendTime keep timestamp and
    type.

    Args:
        message_set: Whole messages of magic 0 or 1.

    Raises:
        CorruptBatchError: The bytes are not such messages.
    """
    batches: list[bytearray] = []
    for (codec, time_type, _), group in groupby(_messages(message_set), key=lambda m: m.group):
        if codec == NONE:
            batches.append(_batch([message.record for message in group], NONE, time_type))
        else:
            batches += [_batch(_unwrap(m), codec, time_type) for m in group]
    return batches


def _messages(data: memoryview) -> Iterator[_Message]:
    position = 0
    while position < len(data):
        message, position = _message(data, position)
        yield message


def _message(data: memoryview, position: int) -> tuple[_Message, int]:
    if len(data) - position < _ENTRY.size:
        raise CorruptBatchError(f"{len(data) - position} bytes of an old message")
    offset, size, crc, magic, attributes = _ENTRY.unpack_from(data, position)
    body = data[position + _BEFORE_SIZE : position + _BEFORE_SIZE + max(0, size)]
    if size < _ENTRY.size - _BEFORE_SIZE or len(body) < size:
        raise CorruptBatchError(f"an old message of {size} bytes has {len(body)}")
    if magic not in {0, 1}:
        raise CorruptBatchError(f"magic {magic} among old messages")
    if zlib.crc32(body[_BEFORE_CRC - _BEFORE_SIZE :]) != crc:
        raise CorruptBatchError(f"the checksum of the old message at offset {offset} is wrong")
    start = _ENTRY.size - _BEFORE_SIZE
    timestamp = -1
    if magic == 1:
        if size < start + 8:
            raise CorruptBatchError("an old message ends inside its timestamp")
        (timestamp,) = struct.unpack_from(">q", body, start)
        start += 8
    key, start = _bytes(body, start)
    value, start = _bytes(body, start)
    if start != size:
        raise CorruptBatchError(f"{size - start} bytes behind the value of an old message")
    record = plain.Record(key, value, (), timestamp, offset)
    return _Message(magic, attributes, record), position + _BEFORE_SIZE + size


def _bytes(body: memoryview, position: int) -> tuple[bytes | None, int]:
    if position + 4 > len(body):
        raise CorruptBatchError("an old message ends inside a length")
    (size,) = struct.unpack_from(">i", body, position)
    position += 4
    if size < 0:
        return None, position
    if position + size > len(body):
        raise CorruptBatchError(f"{size} bytes of an old message reach beyond its end")
    return body[position : position + size].tobytes(), position + size


def _unwrap(wrapper: _Message) -> list[plain.Record]:
    value = wrapper.record.value
    if value is None or wrapper.codec >= ZSTD:
        raise CorruptBatchError(f"an old message with codec {wrapper.codec} and no such value")
    if wrapper.codec == LZ4:
        value = _with_frame_check(value)
    inner = list(_messages(decompress(wrapper.codec, value).data))
    if not inner or any(m.codec != NONE or m.magic != wrapper.magic for m in inner):
        raise CorruptBatchError("an old wrapper of no messages, of wrappers, or of another magic")
    first = 0
    if wrapper.magic == 1:
        first = wrapper.record.offset - inner[-1].record.offset
    return [_placed(m.record, wrapper, first + m.record.offset) for m in inner]


def _placed(record: plain.Record, wrapper: _Message, offset: int) -> plain.Record:
    timestamp = wrapper.record.timestamp if wrapper.time_type else record.timestamp
    return replace(record, offset=offset, timestamp=timestamp)


def _batch(records: list[plain.Record], codec: int, time_type: int) -> bytearray:
    """Return a batch with the same holes between offsets as its records."""
    base = records[0].offset
    deltas = [record.offset - base for record in records]
    if any(after <= before for before, after in pairwise(deltas)) or deltas[-1] > _LAST_DELTA:
        raise CorruptBatchError(f"the offsets of old messages from {base} on do not ascend")
    return sealed(
        compress(codec, plain.record_bytes(records, deltas)),
        attributes=codec | time_type,
        count=len(records),
        times=(records[0].timestamp, max(record.timestamp for record in records)),
        base_offset=base,
        last_delta=deltas[-1],
    )


def _with_frame_check(frame: bytes) -> bytes:
    """Return an lz4 frame with the correct checksum of its header.

    Clients of magic 0 included the magic number in the checksum (KIP-57). The CRC of the message
    was checked before, so replacing this checksum hides no damage.
    """
    if len(frame) < _SHORTEST_FRAME:
        raise CorruptBatchError(f"an lz4 frame of {len(frame)} bytes")
    end = 6 + (8 if frame[4] & _CONTENT_SIZE else 0) + (4 if frame[4] & _DICTIONARY else 0)
    check = _xxhash32(frame[4:end]) >> 8 & 0xFF
    return frame[:end] + bytes([check]) + frame[end + 1 :]


def _xxhash32(data: bytes) -> int:
    """Return the xxHash32 of fewer than 16 bytes, with seed 0."""
    value = _PRIME_5 + len(data)
    whole = len(data) // 4 * 4
    for (lane,) in struct.iter_unpack("<I", data[:whole]):
        value = _rotated(value + lane * _PRIME_3, 17) * _PRIME_4
    for byte in data[whole:]:
        value = _rotated(value + byte * _PRIME_5, 11) * _PRIME_1
    value &= _U32
    value = (value ^ value >> 15) * _PRIME_2 & _U32
    value = (value ^ value >> 13) * _PRIME_3 & _U32
    return value ^ value >> 16


def _rotated(value: int, bits: int) -> int:
    value &= _U32
    return (value << bits | value >> 32 - bits) & _U32
