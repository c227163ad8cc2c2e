"""Message sets of magic 0 and 1, which old segments still hold, as batches of magic 2."""

from __future__ import annotations

import struct

from towpath.model.errors import CorruptBatchError
from towpath.wire.batch import MAGIC
from towpath.wire.legacy import convert

_ENTRY = struct.Struct(">qi")
_SMALLEST = 17
"""Bytes up to and with the magic, which stands at the same place in all formats."""


def modernise(data: memoryview) -> bytearray:
    """Return the records of a fetch response as batches of magic 2, at the same offsets.

    An entry that was cut off at the end is left out, as in any fetch response.

    Raises:
        CorruptBatchError: Some entry is neither a message nor a batch.
    """
    out = bytearray()
    old_from = at = 0
    while at + _SMALLEST <= len(data):
        size = _ENTRY.size + _ENTRY.unpack_from(data, at)[1]
        if size < _SMALLEST or data[at + 16] > MAGIC:
            raise CorruptBatchError(f"magic {data[at + 16]} or a bad size at byte {at}")
        if at + size > len(data):
            break
        if data[at + 16] == MAGIC:
            out += b"".join(convert(data[old_from:at])) + data[at : at + size]
            old_from = at + size
        at += size
    return out + b"".join(convert(data[old_from:at]))
