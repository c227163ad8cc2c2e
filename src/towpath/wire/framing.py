"""Framing of schema ids by serializers: sizes, first bytes and headers.

Confluent's wire format: a zero, a number of 4 bytes (big endian), for Protobuf the indexes of the
message, the payload. In headers (`HeaderSchemaIdSerializer` of Confluent Platform 8.1): a one and a
GUID of 16 bytes, or a zero and a number; the payload has no frame then, so it is not looked at.
AWS Glue: a three, a zero or (compressed with zlib) a five, a UUID of 16 bytes, the payload.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from towpath.wire.loops import inlined

KEY_HEADER, VALUE_HEADER = b"__key_schema_id", b"__value_schema_id"
CONFLUENT_SIZE, GLUE_SIZE, GUID_SIZE = 5, 18, 17
GLUE, ZLIB = np.uint8(3), np.uint8(5)


@inlined
def word(data: Any, at: Any, size: Any) -> Any:
    """Read a big-endian number of up to 8 bytes."""
    value = np.uint64(0)
    for i in range(at, at + size):
        value = (value << np.uint64(8)) | np.uint64(data[i])
    return np.int64(value)


@inlined
def put_word(out: Any, at: Any, size: Any, value: Any) -> None:
    """Write a big-endian number."""
    for i in range(size):
        out[at + size - 1 - i] = np.uint8((value >> (8 * i)) & 0xFF)


@inlined
def little(data: Any, at: Any, size: Any) -> Any:
    """Read a little-endian number of up to 8 bytes."""
    value = np.uint64(0)
    for i in range(size):
        value |= np.uint64(data[at + i]) << np.uint64(8 * i)
    return np.int64(value)
