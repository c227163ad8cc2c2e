"""Histories of partitions whose log was cut at the source: what begins one, and what it shows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.archive.archives import archiving, compacting, partition_id, seen, segment, whole
from tests.support.archive.judged import after, refusal
from towpath.archive.log import (
    Archive,
    ArchiveState,
    AsOf,
    CommitLog,
    Draft,
    HistoryStretch,
    SeenPartition,
    followed_histories,
    newest_histories,
    newest_history,
    open_archive,
    stretches,
)
from towpath.archive.log.rules import judge
from towpath.archive.model import BatchMark, PartitionId, Segment
from towpath.model.nouns import SourceOffset
from towpath.store import Store

FIRST, SECOND, THIRD = (partition_id().of_history(number) for number in range(3))
MARK = BatchMark(SourceOffset(20), SourceOffset(29), 4, 0xABCD, 10, -1)


def begins(history: PartitionId, fork: int, end: int = 45) -> SeenPartition:
    told = replace(seen(0, end), topic_id=history.topic_id)
    return replace(told, fork=SourceOffset(fork))


def later(start: int, end: int, history: PartitionId = SECOND) -> Segment:
    return replace(segment(start, end, tag=f"~{history.history}"), topic_id=history.topic_id)


@pytest.fixture
def state() -> ArchiveState:
    before = after(ArchiveState(), archiving(segment(0, 10), segment(10, 30)))
    return after(before, archiving(partitions=(begins(SECOND, 15),)))


def test_histories_are_told_apart_by_their_numbers() -> None:
    assert (FIRST.history, SECOND.history, THIRD.history) == (0, 1, 2)
    assert SECOND.topic_id == f"{FIRST.topic_id}~1"
    assert (FIRST.later, SECOND.later, THIRD.source) == (SECOND, THIRD, FIRST)
    assert newest_histories([SECOND, FIRST, partition_id(1)]) == {
        FIRST: SECOND,
        partition_id(1): partition_id(1),
    }
    assert newest_history({FIRST, SECOND}, FIRST) == SECOND


def test_a_history_begins_where_the_log_differs_and_nothing_is_deleted(state: ArchiveState) -> None:
    place = state.partitions[SECOND]
    assert (place.begin, place.archived_to, place.fork) == (15, 15, 15)
    state = after(state, archiving(later(15, 40)))
    assert [each.end for each in state.segments(FIRST)] == [10, 30]
    assert state.partitions[FIRST].archived_to == 30
    assert stretches(state.partitions.get, SECOND) == (
        HistoryStretch(FIRST, SourceOffset(0), SourceOffset(15)),
        HistoryStretch(SECOND, SourceOffset(15), SourceOffset(40)),
    )
    assert stretches(state.partitions.get, FIRST) == (
        HistoryStretch(FIRST, SourceOffset(0), SourceOffset(30)),
    )
    assert followed_histories(state) == {FIRST: 15}


def test_a_log_that_is_cut_again_below_the_first_cut(state: ArchiveState) -> None:
    state = after(state, archiving(later(15, 40)))
    state = after(state, archiving(partitions=(begins(THIRD, 8),)))
    state = after(state, archiving(later(8, 12, THIRD)))
    assert stretches(state.partitions.get, THIRD) == (
        HistoryStretch(FIRST, SourceOffset(0), SourceOffset(8)),
        HistoryStretch(THIRD, SourceOffset(8), SourceOffset(12)),
    )
    assert followed_histories(state) == {FIRST: 8, SECOND: 0}


def test_what_was_pruned_of_a_history_hides_those_before() -> None:
    state = after(ArchiveState(), archiving(segment(0, 30)))
    state = after(state, archiving(partitions=(begins(SECOND, 15),)))
    known = after(state, archiving(later(15, 40))).partitions
    pruned = {**known, SECOND: replace(known[SECOND], begin=SourceOffset(20))}
    assert stretches(pruned.get, SECOND) == (
        HistoryStretch(SECOND, SourceOffset(20), SourceOffset(40)),
    )


def test_nothing_follows_a_history_that_has_a_later_one(state: ArchiveState) -> None:
    judged = judge(state, archiving(segment(30, 40)), raced=True)
    assert (judged.draft.add, len(judged.dropped)) == ((), 1)
    assert "a later history of it has begun" in refusal(state, archiving(segment(30, 40)))
    assert judge(state, archiving(segment(10, 30))).known == (segment(10, 30),)
    after(state, compacting(segment(0, 10), segment(10, 30), into=[whole(0, 30)]))


def test_of_two_that_begin_a_history_one_does(state: ArchiveState) -> None:
    state = after(state, archiving(partitions=(begins(SECOND, 12),)))
    assert state.partitions[SECOND].fork == 15
    judged = judge(state, archiving(later(12, 20)), raced=True)
    assert (judged.draft.add, len(judged.dropped)) == ((), 1)


@pytest.mark.parametrize(
    ("draft", "told"),
    [
        (archiving(partitions=(begins(SECOND, 31),)), "archived up to 30"),
        (archiving(partitions=(begins(THIRD, 3),)), "the history before"),
        (archiving(later(5, 9)), "nothing says where it differs"),
        (
            archiving(later(5, 9), partitions=(begins(SECOND, 5),)),
            "in the entry that begins its history",
        ),
        (
            archiving(partitions=(replace(seen(0, 9, 1), fork=SourceOffset(0)),)),
            "nothing says where it differs",
        ),
    ],
)
def test_a_history_that_contradicts_the_archive_is_refused(draft: Draft, told: str) -> None:
    state = after(ArchiveState(), archiving(segment(0, 10), segment(10, 30)))
    assert told in refusal(state, draft)


def test_the_last_batch_is_kept_until_there_is_a_later_one(state: ArchiveState) -> None:
    told = replace(seen(0, 45), tail=MARK)
    state = after(ArchiveState(), archiving(segment(0, 30), partitions=(told,)))
    assert state.partitions[FIRST].tail == MARK
    state = after(state, archiving(segment(30, 40), partitions=(seen(0, 45),)))
    assert state.partitions[FIRST].tail == MARK
    beyond = replace(told, tail=MARK._replace(base=SourceOffset(40), last=SourceOffset(50)))
    state = after(state, archiving(partitions=(beyond,)))
    assert state.partitions[FIRST].tail == MARK


@pytest.mark.parametrize(
    ("changed", "is_other"),
    [
        ({}, False),
        ({"crc": 1}, True),
        ({"epoch": 5}, True),
        ({"producer": 9}, True),
        ({"last": 31}, True),
        ({"base": 30, "last": 31}, False),
        ({"crc": 1, "records": 3}, False),
        ({"crc": -1}, False),
    ],
)
def test_batches_that_no_log_can_both_have_had(changed: dict[str, Any], is_other: bool) -> None:
    other = MARK._replace(**changed)
    assert MARK.contradicts(other) is is_other
    assert other.contradicts(MARK) is is_other


def test_the_log_and_its_checkpoints_keep_histories_for_older_programs_to_refuse(
    store: Store,
) -> None:
    log = CommitLog.open_or_begin(store, "eu")
    marked = replace(seen(0, 30), tail=MARK)
    log.append(archiving(segment(0, 10), segment(10, 30), partitions=(marked,)))
    assert store.get("eu/_log/00000000000000000001.json").startswith(b'{"v":1,')
    log.append(archiving(partitions=(begins(SECOND, 15),)))
    assert store.get("eu/_log/00000000000000000002.json").startswith(b'{"v":2,')
    log.append(archiving(later(15, 40)))
    log.checkpoint()
    again = CommitLog.open(store, "eu").state
    assert again.partitions == log.state.partitions
    assert (again.partitions[FIRST].tail, again.partitions[SECOND].fork) == (MARK, 15)


def test_an_archive_shows_one_history_of_each_partition(store: Store) -> None:
    log = CommitLog.open_or_begin(store, "eu")
    log.append(archiving(segment(0, 10), segment(10, 30)))
    log.append(archiving(partitions=(begins(SECOND, 15),)))
    log.append(archiving(later(15, 40)))
    now = Archive(log, log.state)
    ((partition, place),) = now.partitions().items()
    assert (partition, place.begin, place.archived_to) == (SECOND, 0, 40)
    assert now.topics() == {place.topic: [FIRST.topic_id]}
    pieces = [(each.segment.topic_id, each.first, each.end) for each in now.pieces(SECOND)]
    assert pieces == [
        (FIRST.topic_id, 0, 10),
        (FIRST.topic_id, 10, 15),
        (SECOND.topic_id, 15, 40),
    ]
    for as_of in (AsOf(version=1), AsOf(history=0)):
        then = open_archive(store, "eu", as_of)
        assert [*then.partitions()] == [FIRST]
        assert [(each.first, each.end) for each in then.pieces(FIRST)] == [(0, 10), (10, 30)]
