"""Objects that are larger than what one request of S3 may write or copy (5 GB)."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.support.archive.archives import CLUSTER, WRITER
from tests.support.archive.compacting import compacted
from tests.support.archive.segments import buffer
from tests.support.logs.batches import batch
from tests.support.objects.buckets import Buckets
from tests.support.objects.stores import section
from towpath.archive.config import ArchiveConfig, load_archive
from towpath.archive.config.compaction import CompactionConfig
from towpath.archive.format.either_format import read_object, write_object
from towpath.archive.format.footer import SegmentHead
from towpath.archive.keys import segment_key
from towpath.archive.log import CommitLog, Draft
from towpath.archive.model import GapKind, PartitionId, Segment, SegmentPlace
from towpath.model.nouns import SegmentFormat, SourceOffset, TopicId, TopicName
from towpath.store import Store
from towpath.wire.plain import Record

TOPIC = TopicName("films")
PARTITION = PartitionId(CLUSTER, TopicId("id-films"), 0)
MIB = 1 << 20
SEGMENTS, RECORDS, TOGETHER = 6, 896, 8
"""Segments, records of a MiB in each of them, and in each batch."""
RULE = {"min_age": "0s", "min_count": 2, "min_size": "1B", "max_size": "8GiB"}


def described(buckets: Buckets, folder: Path) -> ArchiveConfig:
    told = {
        "kind": "archive",
        "archive": "large",
        "source": {"bootstrap": "127.0.0.1:1"},
        "store": section(buckets.new(), folder),
        "region": "eu",
        "topics": {"include": [".*"]},
        "grace": "0s",
    }
    file = folder / "large.yaml"
    file.write_text(json.dumps(told))
    return load_archive(file)


def archived(store: Store, rng: random.Random, start: int) -> Segment:
    """Archive a segment of records that no codec makes smaller."""
    end = SourceOffset(start + RECORDS)
    key = segment_key("eu", TOPIC, 0, 0, SourceOffset(start), end, suffix=SegmentFormat.PARQUET)
    head = SegmentHead(
        cluster=CLUSTER, topic_id=PARTITION.topic_id, topic=TOPIC, partition=0,
        start=SourceOffset(start),
    )  # fmt: skip
    with store.writer(key, expected=RECORDS * MIB) as out:
        target = write_object(SegmentFormat.PARQUET, lambda: out)
        writer = target.segment(head, end=end)
        for first in range(start, end, TOGETHER):
            offsets = range(first, first + TOGETHER)
            some = [Record(b"k", rng.randbytes(MIB), (), offset, offset) for offset in offsets]
            data = buffer(batch(some))
            writer.take(data, 0, len(data), ())
        footer = writer.close(end, GapKind.COMPACTED)
        size = target.close()
        made = out.close()
    assert made.size == size
    place = SegmentPlace(key=key, size=size, first_row_group=0, row_groups=len(footer.parts))
    return footer.segment(SegmentFormat.PARQUET, place)


@pytest.mark.soak
@pytest.mark.timeout(1800)
def test_a_compaction_makes_an_object_beyond_five_gigabytes(
    own_buckets: Buckets, tmp_path: Path, rng: random.Random
) -> None:
    config = described(own_buckets, tmp_path)
    with Store(config.store) as store:
        log = CommitLog.open_or_begin(store, "eu")
        for number in range(SEGMENTS):
            log.append(Draft(writer=WRITER, add=(archived(store, rng, number * RECORDS),)))
        done = compacted(config, CompactionConfig.model_validate(RULE))
        assert (done.read, done.written, done.failed) == (SEGMENTS, 1, {})
        log.follow()
        (segment,) = log.state.segments(PARTITION)
        assert segment.place is not None
        assert segment.place.size > 5 << 30
        assert (segment.start, segment.end) == (0, SEGMENTS * RECORDS)
        assert store.head(segment.place.key).size == segment.place.size
        found = read_object(segment.format, store.reader(segment.place.key), segment.place.key)
        found.check(found.segment(0))  # the hashes of all row groups
        found.close()
