"""Segments go to spread keys, with the storage class of their level, encrypted by the store."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from tests.support.logs.batches import batch, numbered
from tests.support.objects.buckets import Buckets, StoreFront
from towpath.archive.config.segments import SegmentLimits
from towpath.archive.format.either_format import read_object
from towpath.archive.format.uploads import Uploads
from towpath.archive.keys import data_key
from towpath.archive.model import STREAMING, PartitionId, Segment
from towpath.archive.write.slice.cycle_plan import PlannedRange
from towpath.archive.write.slice.range_reader import RangeReader
from towpath.archive.write.slice.range_writing import RangeWriting
from towpath.archive.write.slice.segment_objects import WritingTerms
from towpath.cluster.data.buffers import BufferPool
from towpath.model.nouns import ClusterId, SourceOffset, TopicId, TopicName
from towpath.settings import StoreConfig
from towpath.store import Store
from towpath.wire.plain import Record

LIMITS = SegmentLimits(messages=1_000_000, bytes=1 << 20, age=300.0)
TOPIC = TopicName("orders")
SPREAD = re.compile(r"[0-9a-f]{4}/")


def written(store: Store, uploads: Uploads, partition: int, *, again: bool = False) -> Segment:
    """Write a segment of three records, as a slice does."""
    of_others = [PartitionId(ClusterId("c"), TopicId("t"), partition)] if again else []
    terms = WritingTerms("eu", store.config.spread, again=frozenset(of_others))
    id_ = PartitionId(ClusterId("c"), TopicId("t"), partition)
    work = PlannedRange(id=id_, topic=TOPIC, start=SourceOffset(0), end=SourceOffset(3), bytes=1)
    reader, pool = RangeReader(work), BufferPool(1 << 20)
    writing = RangeWriting(work, LIMITS, uploads, terms)
    data = batch(numbered([Record(b"k", b"v", (), 1)] * 3))
    frame = pool.frame(len(data))
    frame.buffer[: len(data)] = np.frombuffer(data, np.uint8)
    reader.take(frame, 0, len(data), ())
    frame.release()
    writing.write(reader.next())
    writing.finish(whole=True)
    ((segment,), trouble) = writing.result()
    assert trouble is None
    return segment


def test_classes_encryption_and_spread_keys(buckets: Buckets, front: StoreFront) -> None:
    classes, encryption = ["STANDARD_IA", "GLACIER_IR"], {"mode": "AES256"}
    config = buckets.new(storage_class=classes, encryption=encryption, spread=True)
    found = list[str]()
    with Store(front.before(config)) as store:
        uploads = Uploads(store, store.config.class_of(STREAMING))
        for partition in range(4):
            segment = written(store, uploads, partition)
            assert segment.place is not None
            found.append(segment.place.key)
            assert segment.place.storage_class == "STANDARD_IA"
            sent = front.headers("PUT", segment.place.key)
            assert sent["x-amz-storage-class"] == "STANDARD_IA"
            assert sent["x-amz-server-side-encryption"] == "AES256"
            file = read_object(segment.format, store.reader(found[-1]), found[-1])
            assert file.segment(0).segment(segment.format, segment.place) == segment
            file.close()
        uploads.close()
    assert all(SPREAD.match(key) for key in found)
    assert len({key[:4] for key in found}) == 4, "keys of partitions begin alike"
    assert {each[5:].split("/")[0] for each in found} == {"eu"}
    held = [each for each in buckets.objects(config.bucket) if each.endswith(".parquet")]
    assert sorted(held) == sorted(f"{config.prefix}/{key}" for key in found)
    assert [config.class_of(level) for level in range(4)] == [*classes, "GLACIER_IR", "GLACIER_IR"]


def test_keys_that_others_may_have_had_are_never_used_again(tmp_path: Path) -> None:
    """A topic that was made again: whoever deletes the objects of the old one may come late."""
    with Store(StoreConfig.model_validate({"url": f"file:{tmp_path / 'store'}"})) as store:
        uploads = Uploads(store, "")
        plain = written(store, uploads, 0)
        assert plain.place is not None
        name = plain.place.key.removesuffix(".parquet")
        found = set()
        for _ in range(3):
            store.delete([plain.place.key])
            segment = written(store, uploads, 0, again=True)
            assert segment.place is not None
            assert re.fullmatch(name + r"\.[0-9a-f]{8}\.parquet", segment.place.key)
            assert data_key("eu", segment.place.key) is not None
            found.add(segment.place.key)
        uploads.close()
    assert len(found) == 3
