"""Copying of row groups between Parquet files, without decoding them.

A row group does not know where it is: only the footer and the index of pages name positions. So
its bytes are copied, and the positions in what describes them are shifted (Parquet format,
`FileMetaData` and `OffsetIndex`). Statistics, the index of pages and Bloom filters come along.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import xxhash

from towpath.archive.errors import CorruptSegmentError
from towpath.archive.format.damage import BY_DAMAGE
from towpath.archive.format.footer import SegmentFooter, SegmentPart
from towpath.archive.format.parquet_writer import footer_values
from towpath.archive.format.sink import HashedSink, Sink
from towpath.archive.format.thrift import (
    BINARY,
    I64,
    LIST,
    STRUCT,
    ThriftList,
    ThriftStruct,
    read_struct,
    write_struct,
)
from towpath.model.foreign import foreign
from towpath.wire.spare import Spares

MAGIC = b"PAR1"
"""The first and the last bytes of a Parquet file."""
_TAIL = 8
_PIECE = 32 << 20
"""Bytes that are read at once."""
_SPARE: Spares[bytearray] = Spares(1)
_MOST_GROUPS = 32767
"""Row groups have a number of 16 bits, which is optional."""

# Fields of FileMetaData, RowGroup, ColumnChunk, ColumnMetaData, OffsetIndex and PageLocation. Where
# something lies elsewhere in the file, its size is the field behind that of its position.
_SCHEMA, _ROWS, _GROUPS, _VALUES, _ORDERS = 2, 3, 4, 5, 7
_COLUMNS, _GROUP_BYTES, _GROUP_ROWS, _GROUP_OFFSET, _ORDINAL = 1, 2, 3, 5, 7
_CHUNK_OFFSET, _META, _OFFSET_INDEX, _COLUMN_INDEX = 2, 3, 4, 6
_DATA, _INDEX, _DICTIONARY, _BLOOM = 9, 10, 11, 14
_PAGES, _PAGE_AT = 1, 1


class RowGroupSource:
    """A Parquet file whose row groups are copied.

    Attributes:
        name: The object, for errors.
        meta: Its footer.
    """

    def __init__(self, source: Any, name: str) -> None:
        """Read the footer.

        Args:
            source: A file that can be read from any position.
            name: The key of the object, or the name of the file.

        Raises:
            CorruptSegmentError: It is not a Parquet file.
        """
        self.name, self._source = name, source
        size = source.seek(0, 2)
        end = self.read(max(0, size - _TAIL), _TAIL)
        length = int.from_bytes(end[:4], "little")
        if end[4:] != MAGIC or length > size - _TAIL:
            raise CorruptSegmentError(name, "it does not end as a Parquet file does")
        self._end = size - _TAIL - length
        self._rest_at, self._rest = self._end, b""
        try:
            self.meta, _ = read_struct(self.read(self._end, length))
            self.groups: list[ThriftStruct] = self.meta.get(_GROUPS).values
        except (ValueError, AttributeError) as error:
            raise CorruptSegmentError(name, f"its footer: {foreign(error)}") from error

    def bytes_of(self, number: int) -> int:
        """Return the uncompressed size of a row group in bytes.

        Raises:
            CorruptSegmentError: The footer does not say.
        """
        with self.told():
            return int(self.groups[number].get(_GROUP_BYTES))

    @contextmanager
    def told(self) -> Iterator[None]:
        """Convert exceptions caused by a damaged footer or page index into `CorruptSegmentError`.

        Raises:
            CorruptSegmentError: They have changed.
        """
        try:
            yield
        except (AttributeError, *BY_DAMAGE) as error:
            raise CorruptSegmentError(
                self.name, f"its footer or its index of pages: {foreign(error)}"
            ) from error

    def read(self, at: int, size: int) -> bytes:
        """Read bytes of the file."""
        self._source.seek(at)
        data: bytes = self._source.read(size)
        return data

    def read_into(self, at: int, memory: memoryview) -> memoryview:
        """Read bytes of the file into memory. Returns the part of the memory that was filled."""
        self._source.seek(at)
        return memory[: self._source.readinto(memory)]

    def aside(self, at: int, size: int) -> bytes:
        """Read bytes behind the row groups; the rest of the file is read ahead."""
        start = at - self._rest_at
        if start < 0 or start + size > len(self._rest):
            self._rest_at, start = at, 0
            self._rest = self.read(at, self._end - at)
        return self._rest[start : start + size]


class RowGroupCopier:
    """A Parquet file assembled from row groups of other files.

    Attributes:
        row_groups: Number of row groups so far.
    """

    def __init__(self, sink: Sink) -> None:
        """Begin the file; the caller closes the sink."""
        self._sink = HashedSink(sink)
        self._sink.write(MAGIC)
        self._first: ThriftStruct | None = None
        self._groups: list[ThriftStruct] = []
        self._beside: list[tuple[ThriftStruct, int, bytes]] = []
        self._rows = 0

    @property
    def row_groups(self) -> int:
        """Number of row groups copied so far."""
        return len(self._groups)

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._sink.size

    def copy(self, source: RowGroupSource, number: int, part: SegmentPart) -> SegmentPart:
        """Copy a row group. Returns its part at the new position.

        Args:
            source: The file.
            number: Number of the row group in the file.
            part: What the file's footer says of it.

        Raises:
            CorruptSegmentError: The bytes are not those that were written, or the file has other
                columns than those before it.
        """
        if self._first is None:
            self._first = source.meta
        elif not _alike(self._first, source.meta):
            raise CorruptSegmentError(source.name, "it has other columns than a segment has")
        at = self._sink.mark()
        self._bytes(source, part)
        with source.told():
            group, _ = read_struct(write_struct(source.groups[number]))
            self._move(source, group, at - part.at)
            self._rows += group.get(_GROUP_ROWS)
        self._groups.append(group)
        return replace(part, at=at)

    def close(self, footers: Collection[SegmentFooter]) -> int:
        """Write the footer. Returns the size of the file."""
        self._put_aside()
        footer = write_struct(self._footer(footers))
        self._sink.write(footer + len(footer).to_bytes(4, "little") + MAGIC)
        return self._sink.size

    def _bytes(self, source: RowGroupSource, part: SegmentPart) -> None:
        found = xxhash.xxh3_64()
        memory = _SPARE.take() or bytearray(_PIECE)
        for at in range(part.at, part.at + part.size, _PIECE):
            data = source.read_into(at, memoryview(memory)[: part.at + part.size - at])
            found.update(data)
            self._sink.write(data)
        _SPARE.give(memory)
        if found.intdigest() != part.hash:
            raise CorruptSegmentError(
                source.name, f"bytes {part.at} to {part.at + part.size} have changed"
            )

    def _move(self, source: RowGroupSource, group: ThriftStruct, step: int) -> None:
        """Shift all positions of a row group; keep what lies elsewhere in the file for later."""
        _shift(group, _GROUP_OFFSET, step)
        if _ORDINAL in group.fields:
            group.set(_ORDINAL, len(self._groups))
            if len(self._groups) > _MOST_GROUPS:
                del group.fields[_ORDINAL]
        for chunk in group.get(_COLUMNS).values:
            meta: ThriftStruct = chunk.get(_META)
            _shift(chunk, _CHUNK_OFFSET, step)
            for field in (_DATA, _INDEX, _DICTIONARY):
                _shift(meta, field, step)
            for holder, field in ((meta, _BLOOM), (chunk, _COLUMN_INDEX), (chunk, _OFFSET_INDEX)):
                if field in holder.fields and field + 1 in holder.fields:
                    data = source.aside(holder.get(field), holder.get(field + 1))
                    moved = _moved_index(data, step) if field == _OFFSET_INDEX else data
                    self._beside.append((holder, field, moved))

    def _put_aside(self) -> None:
        """Write Bloom filters, then indexes of columns, then of pages, and note where they are."""
        for wanted in (_BLOOM, _COLUMN_INDEX, _OFFSET_INDEX):
            for holder, field, data in self._beside:
                if field == wanted:
                    holder.set(field, self._sink.size)
                    holder.set(field + 1, len(data))
                    self._sink.write(data)

    def _footer(self, footers: Collection[SegmentFooter]) -> ThriftStruct:
        if self._first is None:
            raise ValueError("a Parquet file of no row group")
        values = [_pair(name, value) for name, value in footer_values(footers).items()]
        fields = {
            **self._first.fields,
            _ROWS: (I64, self._rows),
            _GROUPS: (LIST, ThriftList(STRUCT, self._groups)),
            _VALUES: (LIST, ThriftList(STRUCT, values)),
        }
        return ThriftStruct(dict(sorted(fields.items())))


def _alike(one: ThriftStruct, other: ThriftStruct) -> bool:
    """Whether two files have the same columns, in the same order of their values."""
    return all(one.get(field) == other.get(field) for field in (_SCHEMA, _ORDERS))


def _shift(struct: ThriftStruct, field: int, step: int) -> None:
    if struct.get(field, 0) > 0:
        struct.set(field, struct.get(field) + step)


def _moved_index(data: bytes, step: int) -> bytes:
    """Return an index of pages whose positions are shifted."""
    index, _ = read_struct(data)
    for page in index.get(_PAGES).values:
        _shift(page, _PAGE_AT, step)
    return write_struct(index)


def _pair(name: str, value: str) -> ThriftStruct:
    return ThriftStruct({1: (BINARY, name.encode()), 2: (BINARY, value.encode())})
