"""Reader of one bytes column of a row group, page by page, into reused memory.

pyarrow copies each element into an array of its own, and the encoder of batches copies it again.
Here the elements stay where they were decompressed, or where they were read if they are not
compressed, and only their positions are noted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from towpath.archive.format.thrift import read_struct
from towpath.model.foreign import foreign
from towpath.wire.batch import Buffer, Table
from towpath.wire.opened import read_only
from towpath.wire.pages import locate
from towpath.wire.records import ByteColumn

_CODECS = {"ZSTD": "zstd", "SNAPPY": "snappy", "GZIP": "gzip", "BROTLI": "brotli"}
"""Codecs of pages as the footer and as Arrow names them; lz4 has two forms in Parquet."""
_NOT_COMPRESSED = "UNCOMPRESSED"
_PLAIN = {"PLAIN", "RLE"}
"""Encodings of a column whose elements are plain, and of what says which of them are there."""

# Fields of PageHeader and of DataPageHeader, and values of them (Parquet format, parquet.thrift).
_TYPE, _SIZE, _PACKED_SIZE, _DATA_PAGE = 1, 2, 3, 5
_COUNT, _ENCODING = 1, 2
_IS_DATA = _IS_PLAIN = 0


class PageError(Exception):
    """A page of a column contradicts the footer."""


class PlainColumn:
    """Reads the elements of a bytes column in order.

    Args:
        read: Returns bytes of the file, by position and size.
        chunk: What the footer says of the column in this row group; `can_read` must be true of it.
    """

    def __init__(self, read: Callable[[int, int], pa.Buffer], chunk: Any) -> None:
        self._data = read(chunk.data_page_offset, chunk.total_compressed_size)
        self._view, self._at = memoryview(self._data).cast("B"), 0
        self._codec = None
        if chunk.compression != _NOT_COMPRESSED:
            self._codec = pa.Codec(_CODECS[chunk.compression])
        self._page: Buffer = np.empty(0, np.uint8)
        self._spans: Table = np.empty((0, 2), np.int64)
        self._taken = 0
        """Elements of the page that were taken."""
        self._held: Buffer = np.empty(0, np.uint8)

    @staticmethod
    def can_read(chunk: Any) -> bool:
        """Return whether Towpath's encoding is used: an optional column without a dictionary."""
        is_known = chunk.compression in _CODECS or chunk.compression == _NOT_COMPRESSED
        return is_known and not chunk.has_dictionary_page and set(chunk.encodings) <= _PLAIN

    def take(self, count: int) -> ByteColumn:
        """Return the next elements, valid until the next call.

        Raises:
            PageError: There are not so many, or a page is not as the footer says.
        """
        spans, at, size = np.empty((count, 2), np.int64), 0, 0
        while at < count:
            some = self._some(count - at)
            if self._codec is None:  # all pages lie in the same memory
                spans[at : at + len(some)] = some
                at += len(some)
                self._taken += len(some)
                continue
            first, end = self._extent(len(some))
            if len(some) == count:  # nothing of another page is needed, so nothing is copied
                self._taken += count
                return some, read_only(self._page)
            self._reserve(size + end - first, size)
            self._held[size : size + end - first] = self._page[first:end]
            np.add(some[:, 0], size - first, out=spans[at : at + len(some), 0])
            spans[at : at + len(some), 1] = some[:, 1]
            at, size = at + len(some), size + end - first
            self._taken += len(some)
        return spans, read_only(self._page if self._codec is None else self._held)

    def some(self, count: int) -> ByteColumn:
        """Return the next elements of one page, at most so many: nothing is copied.

        They are valid until the next call.

        Raises:
            PageError: There is none, or a page is not as the footer says.
        """
        spans = self._some(count)
        self._taken += len(spans)
        return spans, read_only(self._page)

    def _some(self, count: int) -> Table:
        """Return the next elements of a page, at most so many."""
        while self._taken == len(self._spans):
            self._next_page()
        return self._spans[self._taken : self._taken + count]

    def _extent(self, count: int) -> tuple[int, int]:
        """Return where the next elements of the page begin and end."""
        first, last = self._spans[self._taken], self._spans[self._taken + count - 1]
        return int(first[0]), int(last[0] + max(int(last[1]), 0))

    def _reserve(self, size: int, kept: int) -> None:
        if size > len(self._held):
            larger = np.empty(max(size, 2 * len(self._held)), np.uint8)
            larger[:kept] = self._held[:kept]
            self._held = larger

    def _next_page(self) -> None:
        if self._at >= len(self._view):
            raise PageError("a column ends before its row group")
        try:
            self._open_page()
        except ValueError as error:
            raise PageError(f"a page of a column: {foreign(error)}") from error

    def _open_page(self) -> None:
        header, at = read_struct(self._view, self._at)
        packed, size, about = header.get(_PACKED_SIZE), header.get(_SIZE), header.get(_DATA_PAGE)
        if header.get(_TYPE) != _IS_DATA or about is None or about.get(_ENCODING) != _IS_PLAIN:
            raise PageError("a page is not one of plain data")
        page = self._data.slice(at, packed)
        if self._codec is not None:
            page = self._codec.decompress(page, size)
        found = np.frombuffer(page, np.uint8)
        self._spans, self._taken = locate(found, about.get(_COUNT)), 0
        self._at = at + packed
        if self._codec is None:
            self._page = np.frombuffer(self._data, np.uint8)
            self._spans[:, 0] += at
        else:
            self._page = found
