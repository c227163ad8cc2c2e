"""The five codecs of record batches, with a limit on what comes out.

Decompression goes through interfaces that stop at a size: zlib for gzip, Arrow's streams for
zstd and large lz4, and the declared length of snappy. What cannot be read, whatever the reason,
is a `CorruptBatchError`.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable
from typing import Any

import cramjam
import lz4.frame
import numpy as np
import pyarrow as pa

from towpath.model.errors import CorruptBatchError
from towpath.model.foreign import foreign
from towpath.wire.batch import Buffer, Bytes

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
NAMES = ("none", "gzip", "snappy", "lz4", "zstd")

LIMIT = 1 << 30
"""No batch may become larger than this, unless the caller says otherwise."""

_XERIAL = b"\x82SNAPPY\x00"
_XERIAL_HEADER = 16
_SNAPPY_RATIO = 22  # a copy of 64 bytes takes three
_LZ4_RATIO = 255  # a length byte of a match stands for at most 255 bytes
_LZ4_CONTENT_SIZE = 0x08
_FIRST_CHUNK = 1 << 16
_BROKEN = (cramjam.DecompressionError, OSError, ValueError, RuntimeError, MemoryError, zlib.error)


def decompress(codec: int, data: Bytes, limit: int = LIMIT) -> Buffer:
    """Return what was compressed; `data` itself, as an array, where nothing was.

    Args:
        codec: Number of the codec, the low three bits of the attributes.
        data: The records of one batch.
        limit: The most bytes that may come out.

    Raises:
        CorruptBatchError: Unknown codec, damaged or cut data, or more than `limit` bytes.
    """
    source = np.frombuffer(data, np.uint8)
    if codec == NONE:
        return source
    read = _READERS.get(codec)
    if read is None:
        raise CorruptBatchError(f"codec {codec}, known are 0 to {ZSTD}")
    try:
        found = np.frombuffer(read(source.data, limit), np.uint8)
    except _BROKEN as error:
        raise CorruptBatchError(f"{NAMES[codec]}: {foreign(error)}") from error
    if len(found) > limit:
        raise _too_large(codec, limit)
    return found


def compress(codec: int, data: Bytes) -> bytes:
    """Return `data` compressed in the form that brokers and clients read.

    Raises:
        ValueError: There is no such codec.
    """
    source = np.frombuffer(data, np.uint8).data
    if codec == NONE:
        return source.tobytes()
    if codec == GZIP:
        return zlib.compress(source, wbits=31)
    if codec == SNAPPY:
        return bytes(cramjam.snappy.compress_raw(source))
    if codec == LZ4:
        # Brokers refuse blocks that refer to the block before them.
        return bytes(lz4.frame.compress(source, block_linked=False, store_size=False))
    if codec == ZSTD:
        return bytes(cramjam.zstd.compress(source, 3))
    raise ValueError(f"codec {codec}, known are 0 to {ZSTD}")


def _too_large(codec: int, limit: int) -> CorruptBatchError:
    return CorruptBatchError(f"{NAMES[codec]}: more than {limit} bytes when decompressed")


def _gunzip(source: memoryview, limit: int) -> Any:
    out: list[bytes] = []
    room = limit + 1
    rest: bytes | memoryview = source
    while len(rest) and room > 0:
        member = zlib.decompressobj(31)
        out.append(member.decompress(rest, room))
        room -= len(out[-1])
        if room > 0 and not member.eof:
            raise CorruptBatchError("gzip: the data ends too early")
        rest = member.unused_data
    return out[0] if len(out) == 1 else b"".join(out)


def _unsnap(source: memoryview, limit: int) -> Any:
    if source[:8].tobytes() != _XERIAL:
        return _unsnap_block(source, limit)
    out: list[bytes] = []
    position = _XERIAL_HEADER
    while position < len(source):
        if position + 4 > len(source):
            raise CorruptBatchError("snappy: the data ends inside a block length")
        (size,) = struct.unpack_from(">I", source, position)
        block = source[position + 4 : position + 4 + size]
        if len(block) < size:
            raise CorruptBatchError(f"snappy: a block of {size} bytes has {len(block)}")
        out.append(bytes(_unsnap_block(block, limit)))
        limit -= len(out[-1])
        position += 4 + size
    return b"".join(out)


def _unsnap_block(block: memoryview, limit: int) -> Any:
    size = cramjam.snappy.decompress_raw_len(block)
    if size > limit:
        raise _too_large(SNAPPY, limit)
    if size > _SNAPPY_RATIO * len(block) + 64:
        raise CorruptBatchError(f"snappy: {len(block)} bytes claim to hold {size}")
    return cramjam.snappy.decompress_raw(block)


def _unlz4(source: memoryview, limit: int) -> Any:
    most = _LZ4_RATIO * len(source)
    if most <= limit and _lz4_claim(source) <= most:
        # Five times faster for small batches; it stops behind the first frame.
        found, used = lz4.frame.decompress(source, return_bytes_read=True)
        if used == len(source):
            return found
    return _stream("lz4", source, limit)


def _lz4_claim(source: memoryview) -> int:
    """Return the content size that the frame header gives, 0 without one."""
    if len(source) < 14 or not source[4] & _LZ4_CONTENT_SIZE:
        return 0
    return int.from_bytes(source[6:14].tobytes(), "little")


def _unzstd(source: memoryview, limit: int) -> Any:
    return _stream("zstd", source, limit)


def _stream(name: str, source: memoryview, limit: int) -> Any:
    """Read up to one byte more than `limit`, in chunks that grow."""
    stream = pa.CompressedInputStream(pa.BufferReader(pa.py_buffer(source)), name)
    size = min(limit + 1, max(_FIRST_CHUNK, 4 * len(source)))
    chunks = [stream.read_buffer(size)]
    total = len(chunks[0])
    while len(chunks[-1]) == size and total <= limit:
        size = min(limit + 1 - total, 2 * size)
        chunks.append(stream.read_buffer(size))
        total += len(chunks[-1])
    return chunks[0] if len(chunks) == 1 else b"".join(chunks)


_READERS: dict[int, Callable[[memoryview, int], Any]] = {
    GZIP: _gunzip,
    SNAPPY: _unsnap,
    LZ4: _unlz4,
    ZSTD: _unzstd,
}
