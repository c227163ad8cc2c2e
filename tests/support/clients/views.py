"""What consumers see on both sides of a mirror, and whether it is the same."""

from __future__ import annotations

from tests.support.kafka import consume
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.compare.slice import compare
from towpath.compare.work import CompareSlice, Comparison
from towpath.mirror.verify.ranges import Bounds, common_range, cut
from towpath.model.nouns import Side, SourceOffset, TargetOffset, TopicName, TopicPartition


def assert_same_view(mirror: Mirror, partitions: int = 1, isolation: str = "read_committed") -> int:
    """Both sides show the same records at the same offsets; return how many."""
    numbers = range(partitions)
    expected = consume(mirror.source.bootstrap, mirror.topic, numbers, isolation=isolation)
    assert consume(mirror.target.bootstrap, mirror.topic, numbers, isolation=isolation) == expected
    return len(expected)


def assert_same_by_map(mirror: Mirror) -> int:
    """Both sides hold the same records in order, at offsets that the ledger joins."""
    source, target = (consume(c.bootstrap, mirror.topic) for c in (mirror.source, mirror.target))
    told = [[(r.key, r.value, r.headers, r.timestamp) for r in side] for side in (source, target)]
    assert told[1] == told[0]
    offsets = mirror.books().offsets()
    assert [offsets.to_target(SourceOffset(r.offset)).offset for r in source] == [
        r.offset for r in target
    ]
    assert [offsets.to_source(TargetOffset(r.offset)).offset for r in target] == [
        r.offset for r in source
    ]
    return len(target)


def compared(mirror: Mirror, size: int = 1 << 40, *, compacted: str = "") -> Comparison:
    """Compare partition 0 of a mirror in ranges of some bytes."""
    tp = TopicPartition(TopicName(mirror.topic), 0)
    config = mirror.config
    with Admin(config.source, Side.SOURCE) as source, Admin(config.target, Side.TARGET) as target:
        bounds = Bounds(
            source.offsets.earliest([tp])[tp], target.offsets.earliest([tp])[tp], 0,
            compacted == "source", compacted == "target",
        )  # fmt: skip
    whole = common_range(tp, mirror.books(), bounds)
    assert whole is not None
    parts = tuple(sized.part for sized in cut(whole, size))
    found = list(compare(CompareSlice(config.source, config.target, parts)))
    joined = found[0]
    for one in found[1:]:
        joined = joined.then(one)
    return joined
