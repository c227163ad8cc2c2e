"""What an archive gives of records that the source has deleted, and what it says otherwise."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from tests.support.archive.archives import CLUSTER, WRITER, segment
from tests.support.archive.chunks import told
from tests.support.archive.stored import REGION, StoredArchive, old_records
from towpath.archive.errors import WithheldError
from towpath.archive.log.entries import Draft
from towpath.archive.model import GapKind, OffsetGap, PartitionId
from towpath.archive.read.feed.gap_supply import FilledFrom, GapSupply, Taken
from towpath.archive.read.feed.restore_work import ArchivedRange
from towpath.archive.read.feed.supply import Chunks
from towpath.model.nouns import ClusterId, SegmentFormat, SourceOffset, TopicId
from towpath.model.reasons import ReasonCode
from towpath.wire import batch as wire

pytestmark = pytest.mark.slow

TOPIC = "orders"
PARTITION = PartitionId(CLUSTER, TopicId(f"id-{TOPIC}"), 0)


@pytest.fixture
def stored(tmp_path: Path) -> StoredArchive:
    made = StoredArchive(tmp_path, "shop", "127.0.0.1:1")
    made.put(TOPIC, old_records(30, first=10), cuts=[20, 30])
    return made


@pytest.fixture(scope="module")
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as made:
        yield made


class Asked:
    """A supply of the offsets before `end`, and what it says it takes."""

    def __init__(
        self,
        stored: StoredArchive,
        threads: ThreadPoolExecutor,
        end: int,
        partition: PartitionId = PARTITION,
        start: int = 0,
        epoch: int = -1,
    ) -> None:
        self.taken: list[Taken] = []
        wanted = ArchivedRange(
            partition=partition, start=SourceOffset(start), end=SourceOffset(end)
        )
        self._from = FilledFrom(stored.store, REGION)
        self._supply = GapSupply(self._from, wanted, threads, self.taken.append, epoch)

    def chunks(self, first: int) -> Chunks:
        return self._supply.read(SourceOffset(first))

    def offsets(self, first: int) -> list[int]:
        found, _, _ = told(self.chunks(first), first)
        return [each.offset for each in found]

    def refusal(self, first: int) -> WithheldError:
        with pytest.raises(WithheldError) as refused:
            self.offsets(first)
        return refused.value


@pytest.mark.parametrize(("first", "end"), [(10, 40), (13, 25), (29, 30)])
def test_what_is_archived_is_given(
    stored: StoredArchive, threads: ThreadPoolExecutor, first: int, end: int
) -> None:
    asked = Asked(stored, threads, end)
    assert asked.offsets(first) == [*range(first, end)]
    assert asked.taken == [Taken(SourceOffset(first), SourceOffset(end), ())]


def test_what_is_not_archived_so_far_may_come(
    stored: StoredArchive, threads: ThreadPoolExecutor
) -> None:
    asked = Asked(stored, threads, 60)
    assert asked.offsets(35) == [*range(35, 40)]
    error = asked.refusal(40)
    assert (error.first, error.end, error.why.code) == (40, 60, ReasonCode.ARCHIVE_ENDS)
    assert not error.is_final
    stored.put(TOPIC, old_records(20, first=40))
    assert asked.offsets(40) == [*range(40, 60)]


def test_nobody_waits_for_what_was_never_archived(
    stored: StoredArchive, threads: ThreadPoolExecutor
) -> None:
    error = Asked(stored, threads, 40).refusal(3)
    assert (error.first, error.end, error.why.code) == (3, 10, ReasonCode.ARCHIVE_BEGINS)
    assert error.is_final
    assert Asked(stored, threads, 8).refusal(3).end == 8


@pytest.mark.parametrize(
    "other",
    [
        PartitionId(ClusterId("another"), TopicId(f"id-{TOPIC}"), 0),
        PartitionId(CLUSTER, TopicId("made-again"), 0),
    ],
)
def test_another_cluster_and_another_topic_of_the_name_are_not_taken(
    stored: StoredArchive, threads: ThreadPoolExecutor, other: PartitionId
) -> None:
    error = Asked(stored, threads, 40, other).refusal(12)
    assert (error.end, error.why.code) == (40, ReasonCode.ARCHIVE_WITHOUT_TOPIC)
    assert error.is_final


def test_a_missing_object_is_only_its_own_offsets(
    stored: StoredArchive, threads: ThreadPoolExecutor
) -> None:
    middle = stored.log.state.segments(PARTITION)[1]
    stored.path(middle).unlink()
    error = Asked(stored, threads, 40).refusal(12)
    assert (error.first, error.end, error.why.code) == (20, 30, ReasonCode.ARCHIVE_MISSING)
    assert Asked(stored, threads, 40).offsets(30) == [*range(30, 40)]


def test_a_store_that_is_away_is_waited_for(tmp_path: Path, threads: ThreadPoolExecutor) -> None:
    asked = Asked(StoredArchive(tmp_path, "none", "127.0.0.1:1"), threads, 40)
    error = asked.refusal(12)
    assert (error.first, error.end, error.is_final) == (12, 40, False)


def test_what_the_archive_lost_itself_is_told_with_its_kind(
    stored: StoredArchive, threads: ThreadPoolExecutor
) -> None:
    gone = segment(40, 50, gaps=range(40, 50), kind=GapKind.RETENTION, topic_id=PARTITION.topic_id)
    stored.log.append(Draft(writer=WRITER, add=(gone,)))
    asked = Asked(stored, threads, 50)
    assert asked.offsets(35) == [*range(35, 40)]
    [taken] = asked.taken
    whole = OffsetGap(SourceOffset(40), SourceOffset(50), GapKind.RETENTION)
    assert taken == Taken(SourceOffset(35), SourceOffset(50), (whole,))


def test_the_source_is_not_asked_with_epochs_of_the_archive(
    stored: StoredArchive, threads: ThreadPoolExecutor
) -> None:
    """A broker that does not know the epoch would answer that the offset is out of range."""
    asked = Asked(stored, threads, 40)
    for chunk in asked.chunks(10):
        table = wire.scan(np.frombuffer(chunk.data, np.uint8), 0, len(chunk.data))
        assert (table[:, wire.LEADER_EPOCH] == -1).all()
        for row in table.tolist():
            position, length = row[wire.POSITION], row[wire.LENGTH]
            assert wire.sound(memoryview(chunk.data)[position : position + length])


@pytest.mark.parametrize("kind", [*SegmentFormat])
@pytest.mark.parametrize("other", [2, 5])
def test_what_was_copied_of_a_log_that_was_cut_is_told(
    tmp_path: Path, threads: ThreadPoolExecutor, kind: SegmentFormat, other: int
) -> None:
    """Epoch 3 wrote what was lost. Epoch 2 wrote more, or epoch 5 wrote other records."""
    stored = StoredArchive(tmp_path, "shop", "127.0.0.1:1", kind=kind)
    stored.put(TOPIC, old_records(30, first=10), cuts=[20, 30])
    number = stored.fork(TOPIC, 25)
    stored.epoch = other
    new = [each for each in old_records(60, first=25) if each.offset != 34]
    stored.put(TOPIC, new, cuts=[35], number=number)
    for at, epoch in ((30, 3), (35, 3), (40, 3)):  # the record before 35 is missing
        error = Asked(stored, threads, 60, start=at, epoch=epoch).refusal(at)
        assert (error.first, error.end, error.is_final) == (25, at, True)
        assert error.why.code is ReasonCode.SOURCE_CUT
    for at, epoch in ((20, 3), (25, 3), (30, other), (35, other), (30, -1)):
        asked = Asked(stored, threads, 60, start=at, epoch=epoch)
        assert asked.offsets(at) == [n for n in range(at, 60) if n != 34]


def test_of_several_cuts_that_counts_behind_which_nothing_was_copied(
    tmp_path: Path, threads: ThreadPoolExecutor
) -> None:
    stored = StoredArchive(tmp_path, "shop", "127.0.0.1:1")
    stored.put(TOPIC, old_records(40))
    for history, at in ((1, 20), (2, 30)):
        number = stored.fork(TOPIC, at, history)
        stored.epoch = 3 + history
        stored.put(TOPIC, old_records(40, first=at), number=number)
    found = [
        Asked(stored, threads, 60, start=35, epoch=epoch).refusal(35).first for epoch in (3, 4)
    ]
    assert found == [20, 30]
    assert Asked(stored, threads, 60, start=35, epoch=5).offsets(35) == [*range(35, 60)]
