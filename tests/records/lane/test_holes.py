"""Offsets that compaction left empty at the source stay empty on the target."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.support.clients.records import COMPACT
from tests.support.clients.views import compared
from tests.support.copying.lanes import PRODUCER, lane, plain, took
from tests.support.kafka import (
    Record,
    consume,
    create_topic,
    delete_before,
    end_offsets,
    produce,
    raw_batches,
    set_config,
    wait_until,
)
from tests.support.logs.batches import at_offsets, batch
from tests.support.mirror import Mirror
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import Mode, SourceOffset, TargetOffset
from towpath.records.items import Batch, BecomeMapped, Fill
from towpath.records.lane.lane import Lane
from towpath.records.standing import Position, Standing
from towpath.wire import batch as wire
from towpath.wire.plain import Record as Plain

NewName = Callable[[str], str]


def filling(most: int, holes: int = 0) -> Lane:
    """Return a lane whose holes may be filled, so many of them in all."""
    made = lane()
    standing = Standing(
        position=Position(SourceOffset(0), TargetOffset(0), 0),
        mode=Mode.IDENTICAL,
        reasons=(),
        run=(SourceOffset(0), TargetOffset(0), 0),
        holes=holes,
    )
    return Lane(replace(made.work, fill=most), standing)


def waiting(of: Lane) -> list[tuple[int, int] | tuple[int, int, int] | str]:
    """Return the batches, fills and reasons that wait."""
    told: list[tuple[int, int] | tuple[int, int, int] | str] = []
    for item in of.queue.waiting:
        if isinstance(item, Batch):
            told.append((item.base, item.end))
        elif isinstance(item, Fill):
            told.append((item.base, item.end, item.holes))
        elif isinstance(item, BecomeMapped):
            told.append(str(item.why))
    return told


def holey(*offsets: int, last: int | None = None, base: int | None = None) -> bytearray:
    records = [Plain(b"k", b"%d" % offset) for offset in offsets]
    return batch(at_offsets(records, offsets), base=base, last=last)


def test_a_hole_between_batches_is_filled() -> None:
    made = filling(3)
    took(made, plain(0), plain(4))
    assert waiting(made) == [(0, 1), (1, 4, 3), (4, 5)]


def test_a_batch_that_lost_records_is_parted_at_its_holes() -> None:
    made = filling(8)
    took(made, holey(2, 3, 6, 8, base=1, last=10), plain(11))
    parts = [(0, 2, 2), (2, 4), (4, 6, 2), (6, 7), (7, 8, 1), (8, 9), (9, 11, 2), (11, 12)]
    assert waiting(made) == parts
    batches = [item for item in made.queue.waiting if isinstance(item, Batch)]
    assert [item.sequence for item in batches] == [0, 2, 3, 4]
    assert all(item.pieces is None for item in batches)


def test_a_batch_that_lost_all_records_is_filled() -> None:
    made = filling(2)
    took(made, batch((), base=0, last=1), plain(2))
    assert waiting(made) == [(0, 2, 2), (2, 3)]


def test_holes_that_are_fetched_again_count_once() -> None:
    made = filling(5)
    took(made, plain(0), plain(3), plain(6))
    assert made.next_batch() is not None
    assert made.shed()
    took(made, plain(3), plain(6))
    assert waiting(made) == [(1, 3, 2), (3, 4), (4, 6, 2), (6, 7)]


@pytest.mark.parametrize(("most", "before"), [(0, 0), (2, 0), (7, 5)])
def test_beyond_the_bound_offsets_are_mapped(most: int, before: int) -> None:
    made = filling(most, before)
    took(made, plain(0), plain(4))
    [first, reason, *_] = waiting(made)
    assert first == (0, 1)
    bound = f", and `records.fill` lets {most} offsets be filled in all" if most else ""
    assert reason == f"the source has no records at offsets 1 to 3 (compaction){bound}"
    made = filling(most, before)
    took(made, holey(0, 4))
    [reason, pieces, *_] = waiting(made)
    assert reason == f"the source batch at offset 0 has lost records (compaction){bound}"
    assert pieces == (0, 5)


def test_filled_holes_are_counted_as_they_land() -> None:
    made = filling(100)
    took(made, plain(8))
    fill = made.fill_due
    assert fill is not None
    assert (fill.base, fill.end) == (0, 8)
    made.filled(SourceOffset(3))
    assert (made.progress.position.target, made.progress.holes) == (3, 3)
    made.filled(SourceOffset(8))
    receipt = made.progress.receipt("link", "copier")  # type: ignore[arg-type]  # a name
    assert (receipt.holes, receipt.source_end, receipt.producer_id) == (8, 8, PRODUCER)


@pytest.fixture
def mirror(tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName) -> Mirror:
    return Mirror(tmp_path, source, target, new_name("holes"))


def compact(mirror: Mirror, rng: random.Random, *, share: float = 0.5) -> None:
    """Write to the source until its cleaner made holes, of about this share."""
    create_topic(mirror.source.bootstrap, mirror.topic, config=COMPACT)
    boot, keys = mirror.source.bootstrap, 400

    def holed() -> bool:
        picked = rng.sample(range(keys), int(keys * share))
        records = [Record(b"%d" % key, b"%d" % rng.randrange(1000)) for key in picked]
        produce(boot, mirror.topic, records, {"batch.num.messages": rng.choice((1, 7, 1000))})
        offsets = [record.offset for record in consume(boot, mirror.topic)]
        return len(offsets) < 0.7 * (offsets[-1] + 1)

    wait_until(holed, "the cleaner made holes", 60)
    set_config(boot, mirror.topic, "cleanup.policy", "delete")  # and no more of them
    produce(boot, mirror.topic, [Record(b"last", b"")])


@pytest.mark.broker
def test_a_compacted_topic_keeps_its_offsets(mirror: Mirror, rng: random.Random) -> None:
    compact(mirror, rng)
    create_topic(mirror.target.bootstrap, mirror.topic, config={"cleanup.policy": "compact"})
    [done] = mirror.catch_up()
    assert (done.mode, done.reason, done.error) == (Mode.IDENTICAL, "", "")
    expected = consume(mirror.source.bootstrap, mirror.topic)
    end = end_offsets(mirror.source.bootstrap, mirror.topic)[1]
    for isolation in ("read_committed", "read_uncommitted"):
        assert consume(mirror.target.bootstrap, mirror.topic, isolation=isolation) == expected
    assert end_offsets(mirror.target.bootstrap, mirror.topic) == (0, end)
    books = mirror.books()
    assert len(books.offsets().runs) == 1
    assert books.receipt is not None
    assert books.receipt.holes == end - len(expected)
    assert compared(mirror, compacted="source").equal


def markers(mirror: Mirror) -> int:
    """Return how many markers the target holds; the cleaner may leave the header of one."""
    buffer = np.frombuffer(bytearray(raw_batches(mirror.target.bootstrap, mirror.topic)), np.uint8)
    table = wire.scan(buffer, 0, len(buffer))
    return int(table[table[:, wire.ATTRIBUTES] & wire.CONTROL != 0, wire.COUNT].sum())


@pytest.mark.broker
@pytest.mark.soak
def test_offsets_stay_when_the_target_is_cleaned(mirror: Mirror, rng: random.Random) -> None:
    compact(mirror, rng, share=0.1)
    configs = {**COMPACT, "delete.retention.ms": "100"}
    create_topic(mirror.target.bootstrap, mirror.topic, config=configs)
    mirror.catch_up()
    receipt = mirror.books().receipt
    assert receipt is not None
    assert receipt.holes > 50

    def cleaned() -> bool:
        produce(mirror.source.bootstrap, mirror.topic, [Record(b"tick", b"")])
        [done] = mirror.catch_up()
        assert (done.mode, done.error) == (Mode.IDENTICAL, "")
        return markers(mirror) < receipt.holes / 4

    wait_until(cleaned, "the target was cleaned", 60)
    source, target = (
        {r.key: r for r in consume(c.bootstrap, mirror.topic)}
        for c in (mirror.source, mirror.target)
    )
    assert target == source


@pytest.mark.broker
@pytest.mark.parametrize(("fill", "mode"), [(10, Mode.IDENTICAL), (3, Mode.MAPPED)])
def test_the_front_of_a_compacted_topic(mirror: Mirror, fill: int, mode: Mode) -> None:
    mirror.records = {"fill": str(fill)}
    create_topic(mirror.source.bootstrap, mirror.topic, config={"cleanup.policy": "compact,delete"})
    create_topic(mirror.target.bootstrap, mirror.topic, config={"cleanup.policy": "compact"})
    records = [Record(b"%d" % i, b"v") for i in range(10)]
    produce(mirror.source.bootstrap, mirror.topic, records)
    delete_before(mirror.source.bootstrap, mirror.topic, 4)
    [done] = mirror.catch_up()
    assert (done.mode, done.error) == (mode, "")
    why = "" if mode is Mode.IDENTICAL else "a compacted topic cannot be made to begin at offset 4"
    assert done.reason == why
    first = 4 if mode is Mode.IDENTICAL else 0
    assert mirror.books().offsets().runs == ((4, first, 6),)
    seen = consume(mirror.target.bootstrap, mirror.topic, isolation="read_uncommitted")
    assert [record.offset for record in seen] == list(range(first, first + 6))
