"""Batches that are opened some at a time hold what they hold when they are opened one by one."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.support.logs.batches import CODECS, batch, joined, numbered, sealed
from towpath.model.errors import CorruptBatchError
from towpath.wire import opened
from towpath.wire.batch import Buffer, Table, scan
from towpath.wire.codec import LZ4
from towpath.wire.opened import open_batches
from towpath.wire.opening import give_back, open_some
from towpath.wire.plain import Record
from towpath.wire.sifting import MARKER, RECORDS

SIZES = (0, 10, 1_000, 60_000, 300_000, 600_000, 1 << 20, 1_500_000)


def drawn(rng: random.Random) -> list[bytearray]:
    """Return batches of any size and codec; some become much smaller, some not at all."""
    made, base = list[bytearray](), 0
    for _ in range(40):
        size = rng.choice(SIZES)
        value = rng.randbytes(size) if rng.random() < 0.3 else rng.randbytes(16) * (size // 16)
        records = numbered([Record(b"k", value, (), 1), Record(None, b"", (), 2)], base)
        made.append(batch(records, rng.choice([LZ4, LZ4, *CODECS])))
        base += 2
    return made


def contents(buffer: Buffer, table: Table, kinds: Table) -> list[bytes]:
    """Return the record bytes of each batch, with memory that is used again at once."""
    found = list[bytes]()
    for some, told in open_some(buffer, table, kinds):
        assert len(some.batches) == len(told)
        for row in some.batches:
            start, end = int(row[opened.START]), int(row[opened.END])
            found.append(some.data[start:end].tobytes())
        give_back(some.data)
    return found


def test_batches_of_any_size_and_codec_are_opened() -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201
    made = drawn(random.Random(seed))
    buffer, positions, lengths = joined(made)
    kinds = np.full(len(made), RECORDS, np.int64)
    kinds[7] = MARKER  # it is not opened
    wanted = [
        open_batches(buffer, positions[at : at + 1], lengths[at : at + 1])
        for at in range(len(made))
    ]
    plain = [
        each.data[int(each.batches[0, opened.START]) : int(each.batches[0, opened.END])].tobytes()
        for each in wanted
    ]
    plain[7] = b""
    assert contents(buffer.copy(), scan(buffer.copy(), 0, len(buffer)), kinds) == plain


def test_a_batch_that_cannot_be_opened_is_told() -> None:
    good = batch(numbered([Record(b"k", b"v" * 5000, (), 1)], 0), LZ4)
    bad = batch(numbered([Record(b"k", b"v" * 5000, (), 1)], 1), LZ4)
    bad[70] ^= 0xFF
    buffer, _, _ = joined([good, sealed(bad)])
    with pytest.raises(CorruptBatchError, match="lz4"):
        contents(buffer.copy(), scan(buffer.copy(), 0, len(buffer)), np.full(2, RECORDS, np.int64))
