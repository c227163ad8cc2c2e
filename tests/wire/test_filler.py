from __future__ import annotations

import pytest

from towpath.wire import plain, records
from towpath.wire.batch import TRANSACTIONAL, BatchHeader
from towpath.wire.codec import ZSTD
from towpath.wire.filler import filler
from towpath.wire.plain import Record


@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 8191, 8192, 8193])
def test_what_a_filler_holds(count: int) -> None:
    expected = [Record(None, None, (), 5, offset) for offset in range(count)]
    assert list(plain.decode(filler(count, now_ms=5))) == expected
    keyed = [Record(b"", None, (), 5, offset) for offset in range(count)]
    assert list(plain.decode(filler(count, now_ms=5, keyed=True))) == keyed


def test_a_filler_of_a_million_records_is_small() -> None:
    batch = filler(1_000_000, now_ms=7)
    assert len(batch) < 900_000
    decoded = records.decode(batch)
    assert decoded.column("offset").to_pylist() == list(range(1_000_000))
    assert decoded.column("key").null_count == decoded.column("value").null_count == 1_000_000


def test_the_header_of_a_filler_says_what_was_asked() -> None:
    header = BatchHeader.read(filler(3, now_ms=9))
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (-1, -1, -1)
    assert (header.attributes, header.last_offset_delta, header.count) == (ZSTD, 2, 3)
    assert (header.first_timestamp, header.max_timestamp) == (9, 9)
    header = BatchHeader.read(
        filler(3, now_ms=9, producer_id=1 << 40, epoch=2, sequence=8, transactional=True)
    )
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (1 << 40, 2, 8)
    assert header.attributes == ZSTD | TRANSACTIONAL


@pytest.mark.parametrize("count", [0, -1, 1_000_001])
def test_impossible_counts_are_refused(count: int) -> None:
    with pytest.raises(ValueError, match=f"a filler of {count} records"):
        filler(count, now_ms=0)
