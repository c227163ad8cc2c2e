"""The five codecs of record batches, with a limit on the decompressed size.

Each decompressor stops at a size: zlib for gzip, a buffer of that size for zstd, a decompressor
with a maximum for lz4, and the declared length of snappy. Whatever cannot be read is a
`CorruptBatchError`. `wire/streams.py` reads large zstd and lz4 data up to three times faster, but
needs Arrow.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import cramjam
import lz4.frame

from towpath.model.errors import CorruptBatchError
from towpath.model.foreign import foreign
from towpath.wire.header import Buffer, Bytes, view

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
NAMES = ("none", "gzip", "snappy", "lz4", "zstd")

LIMIT = 1 << 30
"""Most bytes of a decompressed batch, unless the caller gives another limit."""

Reader = Callable[[memoryview, int], Any]
"""Decompresses up to so many bytes. It may return one byte more, if the data is larger."""

XERIAL = b"\x82SNAPPY\x00"
XERIAL_HEADER = 16
SNAPPY_RATIO = 22  # a copy of 64 bytes takes three
_FIRST_CHUNK = 1 << 16
_SMALL = 1 << 18
_ZSTD_RATIO = 4
"""The ratio assumed for zstd at first. Above it, a second attempt is needed."""
LZ4_HEADS = tuple(
    (1 << 8 + 2 * code, bytes.fromhex(f"04224d1860{rest}"))
    for code, rest in ((4, "4082"), (5, "50fb"), (6, "6051"), (7, "7073"))
)
"""How frames with blocks of up to so many bytes begin, as Kafka's clients write them: the blocks
stand alone, without checksums or sizes (LZ4 frame format 1.6.4). Readers have memory for the
largest block that may come, so small data say that their blocks are small."""
LZ4_HEAD = 7
"""Bytes of such a head."""
_LZ4_BLOCK, LZ4_STORED = 1 << 20, 1 << 31
"""Bytes of a block, and the bit in its size that tells that it is not compressed."""
_BROKEN = (cramjam.DecompressionError, OSError, ValueError, RuntimeError, MemoryError, zlib.error)


def decompress(
    codec: int, data: Bytes, limit: int = LIMIT, readers: Mapping[int, Reader] | None = None
) -> Buffer:
    """Return the decompressed data as an array."""
    import numpy as np  # noqa: PLC0415  # commands that only read the ledger do not load it

    return np.frombuffer(unpacked(codec, data, limit, readers), np.uint8)


def unpacked(
    codec: int, data: Bytes, limit: int = LIMIT, readers: Mapping[int, Reader] | None = None
) -> memoryview:
    """Return the decompressed data as a memory view.

    Args:
        codec: Number of the codec, the low three bits of the attributes.
        data: The records of one batch.
        limit: Most bytes of the result.
        readers: Decompressors by codec, by default those of this module.

    Raises:
        CorruptBatchError: Unknown codec, damaged or cut data, or more than `limit` bytes.
    """
    source = view(data)
    if codec == NONE:
        return source
    read = (READERS if readers is None else readers).get(codec)
    if read is None:
        raise CorruptBatchError(f"codec {codec}, known are 0 to {ZSTD}")
    try:
        found = memoryview(read(source, limit))
    except _BROKEN as error:
        raise CorruptBatchError(f"{NAMES[codec]}: {foreign(error)}") from error
    if len(found) > limit:
        raise _too_large(codec, limit)
    return found


def compress(codec: int, data: Bytes) -> bytes:
    """Compress data in the form that brokers and clients read.

    Raises:
        ValueError: There is no such codec.
    """
    source = view(data)
    if codec == NONE:
        return source.tobytes()
    if codec == GZIP:
        return zlib.compress(source, wbits=31)
    if codec == SNAPPY:
        return bytes(cramjam.snappy.compress_raw(source))
    if codec == LZ4:
        # Brokers refuse linked blocks. Large ones cost a quarter less time than the default.
        return bytes(
            lz4.frame.compress(
                source,
                block_linked=False,
                store_size=False,
                block_size=lz4.frame.BLOCKSIZE_MAX1MB,
            )
        )
    if codec == ZSTD:
        return bytes(cramjam.zstd.compress(source, 3))
    raise ValueError(f"codec {codec}, known are 0 to {ZSTD}")


def most_compressed(size: int) -> int:
    """Return the highest compressed size of a number of bytes, with any codec."""
    return size + size // 6 + 128  # of all codecs, snappy's bound is the largest


def compress_into(codec: int, data: Buffer, out: Buffer) -> int:
    """Compress data into given memory, as `compress` does; return the number of bytes.

    Args:
        codec: Number of the codec.
        data: What is compressed.
        out: Memory for at least `most_compressed` bytes.

    Raises:
        ValueError: There is no such codec.
    """
    if codec == LZ4:
        return _lz4_into(data.data, out.data)
    packed = memoryview(compress(codec, data))
    out.data[: len(packed)] = packed
    return len(packed)


def _lz4_into(source: memoryview, out: memoryview) -> int:
    """Write a frame as `compress` does, without memory between: a tenth less work."""
    largest = min(len(source), _LZ4_BLOCK)
    at = LZ4_HEAD
    out[:at] = next(head for most, head in LZ4_HEADS if largest <= most)
    for first in range(0, len(source), _LZ4_BLOCK):
        block, begin = source[first : first + _LZ4_BLOCK], at + 4
        size = told = cramjam.lz4.compress_block_into(block, out[begin:], store_size=False)
        if size >= len(block):
            size, told = len(block), len(block) | LZ4_STORED
            out[begin : begin + size] = block
        out[at:begin] = told.to_bytes(4, "little")
        at = begin + size
    out[at : at + 4] = bytes(4)
    return at + 4


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
    if source[:8].tobytes() != XERIAL:
        return _unsnap_block(source, limit)
    out: list[bytes] = []
    position = XERIAL_HEADER
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
    if size > SNAPPY_RATIO * len(block) + 64:
        raise CorruptBatchError(f"snappy: {len(block)} bytes claim to hold {size}")
    return cramjam.snappy.decompress_raw(block)


def _unlz4(source: memoryview, limit: int) -> Any:
    out: list[bytes] = []
    room = limit + 1
    rest: bytes | memoryview | None = source
    while rest and room > 0:
        frame = lz4.frame.LZ4FrameDecompressor()
        out.append(frame.decompress(rest, max_length=room))
        room -= len(out[-1])
        if room > 0 and not frame.eof:
            raise CorruptBatchError("lz4: the data ends too early")
        rest = frame.unused_data
    if not out:
        raise CorruptBatchError("lz4: no data")
    return out[0] if len(out) == 1 else b"".join(out)


def _unzstd(source: memoryview, limit: int) -> Any:
    """Decompress into a buffer, and into a larger one if that fails for an unknown reason."""
    if not source:
        return b""  # as Arrow's streams do
    size = min(limit, max(_FIRST_CHUNK, _ZSTD_RATIO * len(source)))
    while True:
        out = _room(size)
        try:
            return out[: cramjam.zstd.decompress_into(source, out)]
        except cramjam.DecompressionError as error:
            if size == limit:
                text = f"zstd: damaged, or more than {limit} bytes when decompressed"
                raise CorruptBatchError(text) from error
            size = min(limit, 4 * size)


def _room(size: int) -> memoryview:
    """Return memory to write to; that for large data is not filled with zeros first."""
    if size <= _SMALL:
        return memoryview(bytearray(size))
    import numpy as np  # noqa: PLC0415  # commands that only read the ledger do not load it

    return np.empty(size, np.uint8).data


READERS: Mapping[int, Reader] = {
    GZIP: _gunzip,
    SNAPPY: _unsnap,
    LZ4: _unlz4,
    ZSTD: _unzstd,
}
