"""Compactions in S3: one object that cannot be read stops its merge alone, and how results are."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from tests.support.archive.compacting import compacted, held_records
from tests.support.archive.mixed import MixedArchive, partition
from tests.support.archive.stored import old_records
from tests.support.objects.buckets import Buckets, StoreFront
from tests.support.objects.stores import section
from towpath.archive.config import ArchiveConfig
from towpath.archive.format.parquet_writer import ParquetOptions
from towpath.archive.model import Segment
from towpath.wire.plain import Record

pytestmark = pytest.mark.slow


class InS3(MixedArchive):
    """An archive in a bucket."""

    section: Any = None

    def config(self, **more: Any) -> ArchiveConfig:
        """Write the file with further sections, and return what it says."""
        return super().config(**{"store": self.section, **more})


@pytest.fixture
def archive(front: StoreFront, buckets: Buckets, tmp_path: Path) -> InS3:
    """Return an archive of two partitions with two segments each."""
    made = InS3(tmp_path)
    made.section = section(front.before(buckets.new()), tmp_path)
    return made


def two(archive: InS3, number: int) -> list[Segment]:
    records = old_records(40)
    return [archive.own(records, at, at + 20, number) for at in (0, 20)]


def key_of(segment: Segment) -> str:
    assert segment.place is not None
    return segment.place.key


def test_a_cold_object_stops_its_partition_alone(archive: InS3, front: StoreFront) -> None:
    first, *_ = two(archive, 0)
    two(archive, 1)
    cold = key_of(first)
    front.change = lambda method, path, _headers: (
        (403, "InvalidObjectState") if method == "GET" and cold in path else None
    )
    for share in ("0B", "4MiB"):
        done = compacted(archive.config(segments={"share": share}), slots=1)
        assert list(done.failed) == ["orders-0"]
        assert "let it be thawed first" in done.failed["orders-0"]
    assert len(archive.log.state.segments(partition(0))) == 2
    assert len(archive.log.state.segments(partition(1))) == 1


def test_a_changed_bit_in_s3_stops_its_partition_alone(archive: InS3, buckets: Buckets) -> None:
    first, *_ = two(archive, 0)
    two(archive, 1)
    path = buckets.folder_of(archive.config().store) / key_of(first)
    data = bytearray(path.read_bytes())
    data[-40] ^= 1
    path.write_bytes(data)
    done = compacted(archive.config(), slots=1)
    assert list(done.failed) == ["orders-0"]
    assert "is damaged" in done.failed["orders-0"]
    assert len(archive.log.state.segments(partition(1))) == 1


def test_results_have_the_class_of_their_level_and_the_encryption(
    archive: InS3, front: StoreFront
) -> None:
    """Row groups of the inputs are copied; what holds for objects holds for these as well."""
    archive.section |= {
        "storage_class": ["STANDARD", "STANDARD_IA"],
        "encryption": {"mode": "aws:kms", "kms_key": "arn:aws:kms:eu-west-1:1:key/1"},
        "part_size": "5MiB",
    }
    noise = [random.randbytes(1 << 20) for _ in range(36)]
    records = [Record(b"k", each, (), 1_700_000_000_000 + n, n) for n, each in enumerate(noise)]
    for at in (0, 18):
        archive.own(records, at, at + 18, options=ParquetOptions())
    before = held_records(archive.store, archive.log.state, partition())
    front.seen.clear()
    assert compacted(archive.config()).written == 1
    (begun,) = [seen for how, path, seen in front.seen if how == "POST" and "?uploads" in path]
    assert begun["x-amz-storage-class"] == "STANDARD_IA"
    assert begun["x-amz-server-side-encryption"] == "aws:kms"
    (made,) = archive.log.state.segments(partition())
    assert made.place is not None
    assert made.place.storage_class == "STANDARD_IA"  # versitygw tells STANDARD of all objects
    assert archive.store.head(made.place.key).crc == made.place.crc
    assert held_records(archive.store, archive.log.state, partition()) == before
