"""What may follow a state of an archive, and what may not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.archive.archives import (
    COMPACTOR,
    WRITER,
    archiving,
    compacting,
    partition_id,
    seen,
    segment,
    whole,
)
from tests.support.archive.judged import after, refusal
from towpath.archive.log.entries import Capture, Draft, EntryKind, LogEntry
from towpath.archive.log.rules import judge, problem_of
from towpath.archive.log.state import ArchiveState
from towpath.archive.model import GapKind, Segment
from towpath.model.nouns import SourceOffset

ONE = (segment(0, 10), segment(10, 20), segment(20, 30))


@pytest.fixture
def state() -> ArchiveState:
    return after(ArchiveState(), archiving(*ONE, partitions=(seen(0, 45),)))


def test_segments_are_added_where_their_partition_ends(state: ArchiveState) -> None:
    place = state.partitions[partition_id()]
    assert (place.begin, place.archived_to, place.stable_end, place.seen) == (0, 30, 45, 10)
    more = after(state, archiving(segment(40, 45), segment(30, 40)))
    assert more.partitions[partition_id()].archived_to == 45
    assert [each.start for each in more.segments(partition_id())] == [0, 10, 20, 30, 40]
    other = after(state, archiving(segment(500, 510, 1)))
    assert other.partitions[partition_id(1)].begin == 500
    assert [each.start for each in more.segments(partition_id(), 15, 31)] == [10, 20, 30]


def test_a_hole_is_refused(state: ArchiveState) -> None:
    told = refusal(state, archiving(segment(31, 40)))
    assert told == (
        "segment [31, 40) of id-orders-0 of cluster cluster-a, level 0: its partition is archived"
        " up to 30"
    )


@pytest.mark.parametrize("start", [0, 5, 20, 29])
def test_what_another_writer_archived_is_dropped(state: ArchiveState, start: int) -> None:
    late = (segment(start, 40, tag="late"), segment(40, 50))
    judged = judge(state, archiving(*late), raced=True)
    assert (judged.draft.add, judged.dropped, judged.says_nothing) == ((), late, True)
    told = judge(state, archiving(*late, segment(0, 5, 7)), raced=True)
    assert (told.draft.add, told.says_nothing) == ((segment(0, 5, 7),), False)


def test_what_an_earlier_attempt_added_is_known(state: ArchiveState) -> None:
    judged = judge(state, archiving(*ONE, segment(30, 40)))
    assert (judged.known, judged.dropped, judged.draft.add) == (ONE, (), (segment(30, 40),))
    state = after(state, compacting(*ONE, into=[whole(0, 30)]))
    judged = judge(state, archiving(*ONE))
    assert (judged.known, judged.dropped, judged.says_nothing) == (ONE, (), True)


def test_a_partition_without_records_is_known_and_begins_where_it_is_said() -> None:
    late = replace(seen(100, 100, 1), begin=SourceOffset(70))
    state = after(ArchiveState(), archiving(partitions=(seen(0, 0), late)))
    assert state.partitions[partition_id()].archived_to == 0
    assert state.partitions[partition_id(1)].archived_to == 70
    assert "archived up to 70" in refusal(state, archiving(segment(100, 110, 1)))
    state = after(state, archiving(segment(70, 100, 1, gaps=range(70, 100))))
    assert state.partitions[partition_id(1)].begin == 70


def test_a_topic_that_was_made_again_is_another_one(state: ArchiveState) -> None:
    again = replace(segment(0, 10), topic_id=partition_id(0, "orders-again").topic_id)
    state = after(state, archiving(again))
    assert state.segments(again.partition_id) == [again]
    assert state.segments(partition_id()) == list(ONE)


def test_a_segment_that_contradicts_itself_is_refused(state: ArchiveState) -> None:
    wrong = replace(segment(30, 40), end=SourceOffset(41))
    assert "10 records and 0 offsets without one do not cover" in refusal(state, archiving(wrong))
    assert "does not come from Kafka" in refusal(state, archiving(whole(30, 40)))


def test_a_compaction_keeps_range_records_and_gaps(state: ArchiveState) -> None:
    state = after(state, archiving(segment(30, 40, gaps=[33])))
    before = state.segments(partition_id())
    after(state, compacting(*before, into=[whole(0, 40, gaps=[33])]))
    after(state, compacting(*before[1:3], into=[whole(10, 30)]))
    split = [whole(0, 15), whole(15, 40, gaps=[33])]
    done = after(state, compacting(*before, into=split))
    assert done.segments(partition_id()) == split
    assert done.partitions[partition_id()] == state.partitions[partition_id()]
    again = after(done, compacting(*split, into=[whole(0, 40, level=2, gaps=[33])]))
    assert len(again.segments(partition_id())) == 1


@pytest.mark.parametrize(
    ("before", "into", "told"),
    [
        (ONE, [whole(0, 29)], "what replaces [0, 30) of id-orders-0"),
        (ONE, [whole(0, 10), whole(20, 30)], "does not have this range"),
        (ONE, [], "does not have this range"),
        (ONE, [whole(0, 30, gaps=[4])], "has other records"),
        (ONE, [segment(0, 30)], "says that it comes from Kafka"),
        (ONE[:1], [whole(0, 10), whole(10, 20)], "level 1 replaces nothing"),
        ((segment(0, 30),), [whole(0, 30)], None),
    ],
)
def test_what_a_compaction_changes_is_refused(
    state: ArchiveState, before: tuple[Segment, ...], into: list[Segment], told: str | None
) -> None:
    draft = compacting(*before, into=into)
    if told is None:
        assert judge(state, draft).dropped == tuple(into)  # others have compacted it meanwhile
    else:
        assert told in refusal(state, draft)


def test_equal_records_are_not_enough_where_gaps_differ(state: ArchiveState) -> None:
    state = after(state, archiving(segment(30, 40, gaps=[33])))
    (last,) = state.segments(partition_id(), 30)
    other = whole(30, 40, gaps=[33], kind=GapKind.ABORTED)
    assert "has other gaps" in refusal(state, compacting(last, into=[other]))


def test_of_two_compactions_the_second_is_dropped(state: ArchiveState) -> None:
    done = after(state, compacting(*ONE, into=[whole(0, 30)]))
    late = whole(0, 30, tag="late")
    judged = judge(done, compacting(*ONE, into=[late]), raced=True)
    assert (judged.dropped, judged.says_nothing) == ((late,), True)
    partly = whole(10, 30, tag="late")
    assert judge(done, compacting(*ONE[1:], into=[partly]), raced=True).dropped == (partly,)
    known = judge(done, compacting(*ONE, into=[whole(0, 30)]))
    assert (known.known, known.dropped) == ((whole(0, 30),), ())


def test_segments_are_pruned_from_the_begin_on(state: ArchiveState) -> None:
    prune = Draft(writer=WRITER, kind=EntryKind.PRUNE)
    ids = tuple(each.id for each in ONE)
    done = after(state, replace(prune, remove=ids[:2]))
    assert done.partitions[partition_id()].begin == 20
    assert done.segments(partition_id()) == [ONE[2]]
    assert "is not pruned from its begin on" in refusal(state, replace(prune, remove=ids[1:]))
    assert "is not pruned from its begin on" in refusal(
        state, replace(prune, remove=(ids[0], ids[2]))
    )
    late = judge(done, replace(prune, remove=ids[:2]), raced=True)
    assert late.says_nothing
    empty = after(done, replace(prune, remove=ids[2:]))
    assert (empty.segments(partition_id()), empty.partitions[partition_id()].begin) == ([], 30)
    after(empty, archiving(segment(30, 40)))
    assert "archived up to 30" in refusal(empty, archiving(segment(35, 40)))


@pytest.mark.parametrize(
    ("kind", "gap"), [(EntryKind.FORGET, GapKind.ERASED), (EntryKind.LOSE, GapKind.LOST)]
)
def test_records_become_gaps_that_say_why(
    state: ArchiveState, kind: EntryKind, gap: GapKind
) -> None:
    draft = Draft(writer=WRITER, kind=kind, remove=(ONE[0].id, ONE[2].id))
    less = (segment(0, 10, gaps=[3, 4], kind=gap), segment(20, 30, gaps=range(20, 30), kind=gap))
    done = after(state, replace(draft, add=less))
    assert done.segments(partition_id()) == [less[0], ONE[1], less[1]]
    wrong = (segment(0, 10, gaps=[3, 4]), less[1])
    assert "has other gaps than the records that are" in refusal(state, replace(draft, add=wrong))
    two = after(done, replace(draft, remove=(less[0].id,), add=(segment(0, 10, gaps=[3, 4, 5],
                                                                        kind=gap),)))  # fmt: skip
    assert two.segments(partition_id(), 0, 10)[0].records == 7
    back = replace(draft, remove=(less[0].id,), add=(segment(0, 10),))
    assert "has" in refusal(done, back)


def test_objects_are_swept_when_no_segment_has_them(state: ArchiveState) -> None:
    shared = [replace(each, place=replace(ONE[0].place, row_groups=1)) for each in  # type: ignore[type-var]
              (segment(0, 10, 1), segment(0, 10, 2))]  # fmt: skip
    state = after(state, archiving(*shared))
    keys = [each.place.key for each in ONE if each.place]
    state = after(state, compacting(*ONE, into=[whole(0, 30)]))
    assert set(state.removed) == set(keys)
    assert list(state.unused_objects()) == keys[1:]
    sweep = Draft(writer=COMPACTOR, kind=EntryKind.SWEEP)
    assert f"object {keys[0]} was swept, and a segment has it" in refusal(
        state, replace(sweep, swept=(keys[0],))
    )
    done = after(state, replace(sweep, swept=tuple(keys[1:])))
    assert (set(done.removed), done.unused_objects()) == ({keys[0]}, {})
    done = after(done, Draft(writer=WRITER, kind=EntryKind.PRUNE,
                             remove=tuple(each.id for each in shared)))  # fmt: skip
    assert list(done.unused_objects()) == [keys[0]]


def test_captures_hold_until_there_are_others(state: ArchiveState) -> None:
    def capture(name: str, value: object) -> Draft:
        return archiving(captures=(Capture(kind="topic", name=name, value=value),))

    state = after(state, capture("orders", {"retention.ms": "1"}))
    state = after(state, capture("other", 7))
    state = after(state, capture("orders", {"retention.ms": "2"}))
    orders = state.captures["topic", "orders"]
    assert (orders.value, orders.version) == ({"retention.ms": "2"}, 4)
    state = after(state, capture("other", None))
    assert list(state.captures) == [("topic", "orders")]


def test_an_entry_that_does_not_follow_is_said(state: ArchiveState) -> None:
    entry = LogEntry(version=2, time=20, writer=WRITER, before="tip 1", add=(segment(30, 40),))
    assert problem_of(state, entry) == ""
    assert "says that it is version 3" in problem_of(state, replace(entry, version=3))
    assert "behind another entry" in problem_of(state, replace(entry, before="tip 0"))
    hole = replace(entry, add=(segment(35, 40),))
    assert "archived up to 30" in problem_of(state, hole)
    twice = replace(entry, add=(segment(20, 30),))
    assert "adds what the archive has already" in problem_of(state, twice)
    newer = state.after([(replace(entry, writer=replace(WRITER, epoch=2)), "tip 2")])
    old = replace(entry, version=3, before="tip 2")
    assert "whose work another process had taken over" in problem_of(newer, old)
