"""Records placed by their keys: each once, where its key belongs, in the order of its key."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tests.support.archive.archives import CLUSTER
from tests.support.archive.stored import REGION, StoredArchive
from tests.support.logs.batches import from_arrow
from towpath.archive.errors import WithheldError
from towpath.archive.log import CommitLog
from towpath.archive.model import PartitionId
from towpath.archive.read.feed.keyed_layout import KeyedLayout
from towpath.archive.read.feed.keyed_supply import KeyedSupply
from towpath.archive.read.feed.logged_archive import LoggedArchive
from towpath.archive.read.feed.restore_work import KeyedRange
from towpath.archive.read.feed.supply import Chunk
from towpath.model.nouns import SourceOffset, TopicId
from towpath.wire import batch as wire
from towpath.wire.placing import hashes
from towpath.wire.plain import Record
from towpath.wire.records import decode

pytestmark = pytest.mark.slow

KEYS = [b"key %d" % n for n in range(40)]


@pytest.fixture(scope="module")
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as made:
        yield made


@pytest.fixture
def stored(tmp_path: Path) -> StoredArchive:
    return StoredArchive(tmp_path, "shop", "127.0.0.1:1")


def expanded(rng: random.Random, counts: Sequence[int], each: int = 120) -> list[list[Record]]:
    """Return a topic that had ever more partitions, each value being the number of its record."""
    logs: list[list[Record]] = [[] for _ in range(counts[-1])]
    home = dict(zip(KEYS, hashes(pa.array(KEYS, pa.binary())).tolist(), strict=True))
    number = 0
    for count in counts:
        for _ in range(each):
            key = rng.choice([*KEYS, None])
            at = rng.randrange(count) if key is None else home[key] % count
            log = logs[at]
            log.append(Record(key, b"%d" % number, (), 1000 + number, len(log) * 2 + at))
            number += 1
    return logs


def layout_of(logs: Iterable[Sequence[Record]], count: int) -> KeyedLayout:
    parts = [
        (
            PartitionId(CLUSTER, TopicId("id-orders"), number),
            SourceOffset(log[0].offset),
            SourceOffset(log[-1].offset + 1),
        )
        for number, log in enumerate(logs)
        if log
    ]
    return KeyedLayout.of(parts, len([*logs]), count)


def archived(stored: StoredArchive, logs: Iterable[Sequence[Record]]) -> LoggedArchive:
    for number, log in enumerate(logs):
        if log:
            middle = log[len(log) // 2].offset
            stored.put(
                "orders", log, cuts=[middle] if middle > log[0].offset else (), partition=number
            )
    store = stored.store
    return LoggedArchive(store, CommitLog.open(store, REGION))


def records(chunks: Iterable[Chunk]) -> list[Record]:
    found: list[Record] = []
    for chunk in chunks:
        buffer = np.frombuffer(chunk.data, np.uint8)
        for row in wire.scan(buffer, 0, len(buffer)).tolist():
            if not row[wire.ATTRIBUTES] & wire.CONTROL:
                position = row[wire.POSITION]
                found += from_arrow(decode(chunk.data[position : position + row[wire.LENGTH]]))
            assert row[wire.LAST] < chunk.end
    return found


@pytest.mark.parametrize(
    ("counts", "count"),
    [((3,), 5), ((1, 2), 3), *(pytest.param(*each, marks=pytest.mark.soak) for each in
     (((4, 6), 1), ((1, 2, 4), 3)))],
)  # fmt: skip
def test_each_record_once_and_keys_in_order(
    stored: StoredArchive,
    threads: ThreadPoolExecutor,
    rng: random.Random,
    counts: Sequence[int],
    count: int,
) -> None:
    logs = expanded(rng, counts)
    archive, layout = archived(stored, logs), layout_of(logs, count)
    seen = list[int]()
    for number in range(count):
        supply = KeyedSupply(archive, KeyedRange(layout=layout, number=number), threads)
        chunks = [*supply.read(SourceOffset(0))]
        found = records(chunks)
        assert chunks[-1].end == layout.end
        at = [each.offset for each in found]
        assert at == sorted(set(at))
        by_key = defaultdict[bytes | None, list[int]](list)
        for each in found:
            by_key[each.key].append(int(each.value or b""))
        for key, values in by_key.items():
            seen += values
            if key is not None:
                assert values == sorted(values)
                assert hashes(pa.array([key], pa.binary()))[0] % count == number
        first = SourceOffset(rng.randrange(layout.end))
        assert records(supply.read(first)) == [each for each in found if each.offset >= first]
    assert sorted(seen) == [*range(sum(map(len, logs)))]


def test_a_lost_object_is_told_at_its_position(
    stored: StoredArchive, threads: ThreadPoolExecutor
) -> None:
    logs = expanded(random.Random(1), (2,))
    archive, layout = archived(stored, logs), layout_of(logs, 2)
    pid = PartitionId(CLUSTER, TopicId("id-orders"), 1)
    [_, second] = stored.log.state.segments(pid)
    stored.path(second).unlink()
    supply = KeyedSupply(archive, KeyedRange(layout=layout, number=0), threads)
    with pytest.raises(WithheldError) as found:
        records(supply.read(SourceOffset(0)))
    lost = found.value
    stretch = layout.stretches[1]
    assert (lost.first, lost.end) == (stretch.position(second.start), stretch.stop)


def test_another_layout_has_another_id() -> None:
    logs = expanded(random.Random(1), (2,))
    first, same, other = layout_of(logs, 2), layout_of(logs, 2), layout_of(logs, 3)
    assert first.topic_id == same.topic_id != other.topic_id
    assert first.id_of(1).partition == 1
