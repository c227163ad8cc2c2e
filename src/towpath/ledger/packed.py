"""A compact encoding of offset map runs: skipped offsets and lengths, by column.

All numbers are varints, compressed with zlib; what is skipped may be negative, so it is zigzag. A
source of equal transactions takes a fraction of a byte for each run, any other about a byte.
"""

from __future__ import annotations

import binascii
import zlib
from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeAlias

from towpath.ledger.entries import Run
from towpath.model.errors import LedgerError
from towpath.model.foreign import foreign
from towpath.model.lazy import Lazy

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
else:
    np = Lazy("numpy")

Table: TypeAlias = "npt.NDArray[np.int64]"


class Packer:
    """Encodes runs of an offset map, added one by one.

    Attributes:
        count: How many there are.
        end: Target offset behind the last one.
    """

    def __init__(self, runs: Iterable[Run] = ()) -> None:
        self._skipped, self._skipped_there, self._lengths = bytearray(), bytearray(), bytearray()
        self._end = self._end_there = 0
        self.count = self.end = 0
        for run in runs:
            self.add(run)

    @property
    def size(self) -> int:
        """Size of the packed runs in bytes, before compression."""
        return len(self._skipped) + len(self._skipped_there) + len(self._lengths)

    def add(self, run: Run) -> None:
        """Add a run; runs in ascending order take the least room."""
        start, there, length = run
        _write(self._skipped, _zigzag(start - self._end))
        _write(self._skipped_there, _zigzag(there - self._end_there))
        _write(self._lengths, length)
        self._end, self._end_there = start + length, there + length
        self.count += 1
        self.end = max(self.end, self._end_there)

    def add_all(self, runs: Table) -> None:
        """Add many runs, rows of source start, target start, length, in ascending order."""
        lengths = runs[:, 2]
        self._skipped += _skips(runs[:, 0], lengths, self._end)
        self._skipped_there += _skips(runs[:, 1], lengths, self._end_there)
        self._lengths += _varints(lengths)
        start, there, length = runs[-1].tolist()
        self._end, self._end_there = start + length, there + length
        self.count += len(runs)
        self.end = max(self.end, int((runs[:, 1] + lengths).max()))

    def text(self) -> str:
        """Return all runs, compressed, in base64; "" for no runs."""
        data = b"".join((self._skipped, self._skipped_there, self._lengths))
        return binascii.b2a_base64(zlib.compress(data), newline=False).decode() if data else ""


def unpack(text: str) -> Table:
    """Decode packed runs as rows of source start, target start, length.

    Raises:
        LedgerError: The text is not made by `Packer`.
    """
    if not text:
        return np.empty((0, 3), np.int64)
    try:
        numbers = _read(np.frombuffer(zlib.decompress(binascii.a2b_base64(text)), np.uint8))
        skipped, skipped_there, lengths = numbers.reshape(3, -1)
    except (ValueError, zlib.error) as error:
        raise LedgerError(f"runs in the ledger are damaged: {foreign(error)}") from error
    before = np.cumsum(lengths) - lengths
    starts, there = (np.cumsum(_unzigzag(each)) + before for each in (skipped, skipped_there))
    return np.stack((starts, there, lengths), 1)


def runs_of(text: str) -> tuple[Run, ...]:
    """Decode packed runs as tuples.

    Raises:
        LedgerError: The text is not made by `Packer`.
    """
    return tuple((start, there, length) for start, there, length in unpack(text).tolist())


def _write(out: bytearray, value: int) -> None:
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _zigzag(value: int) -> int:
    return value << 1 if value >= 0 else ~(value << 1)


def _skips(starts: Table, lengths: Table, end: int) -> bytes:
    """Return how many offsets lie before each run, written as varints."""
    skipped = starts - np.concatenate(([end], (starts + lengths)[:-1]))
    return _varints((skipped << 1) ^ (skipped >> 63))


def _varints(numbers: Table) -> bytes:
    """Return numbers as varints."""
    left = numbers.view(np.uint64)
    sizes = np.ones(len(left), np.int64)
    for bits in range(7, 64, 7):
        sizes += left >= np.uint64(1 << bits)
    place = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    last = place == np.repeat(sizes - 1, sizes)
    found = np.repeat(left, sizes) >> (7 * place).astype(np.uint64) & np.uint64(0x7F)
    found[~last] |= np.uint64(0x80)
    return found.astype(np.uint8).tobytes()


def _unzigzag(numbers: Table) -> Table:
    bits = numbers.view(np.uint64)
    return (bits >> np.uint64(1)).view(np.int64) ^ -(numbers & 1)


def _read(data: npt.NDArray[np.uint8]) -> Table:
    """Return all varints of `data`."""
    last = np.flatnonzero(data < 0x80)
    first = np.concatenate(([0], last[:-1] + 1))
    place = np.arange(last[-1] + 1) - np.repeat(first, last - first + 1)
    bits = (data[: last[-1] + 1] & 0x7F).astype(np.uint64) << (7 * place).astype(np.uint64)
    return np.add.reduceat(bits, first).view(np.int64)
