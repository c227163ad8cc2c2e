"""Which records of a mirror topic MirrorMaker 2 did not write."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from towpath.mirror.mm2.other_writers import joined
from towpath.mirror.mm2.others import NO_ID, StrangeRecords, WrittenBatch, judge, task_ids
from towpath.mirror.mm2.records import OffsetSync
from towpath.model.nouns import ProducerId, SourceOffset, TargetOffset, TopicName, TopicPartition

TP = TopicPartition(TopicName("orders"), 0)
NOBODY = frozenset[ProducerId]()


def batches(*producers: int, size: int = 10) -> list[WrittenBatch]:
    """Return dense batches of ten records, each by one producer."""
    return [
        WrittenBatch(at * size, (at + 1) * size, size, ProducerId(producer))
        for at, producer in enumerate(producers)
    ]


def sync(source: int, target: int) -> OffsetSync:
    return OffsetSync(tp=TP, source=SourceOffset(source), target=TargetOffset(target))


def test_a_producer_with_an_id_is_another_where_checkpoints_point_to_batches_without() -> None:
    seen = judge(batches(-1, 7, 7, -1), [5, 35], NOBODY)
    assert seen.others == (StrangeRecords(10, 30, 20, sure=True),)
    assert (seen.first, seen.end, seen.counted) == (0, 40, False)


def test_a_checkpoint_between_two_writers_tells_nothing() -> None:
    # At 10 the record before it is of one, the record itself of the other.
    seen = judge(batches(-1, 7, -1, -1), [10], NOBODY)
    assert [each.first for each in seen.others] == [10]


def test_tasks_in_transactions_are_known_by_their_ids() -> None:
    ids = {ProducerId(5): "us-mm2-MirrorSourceConnector-0", ProducerId(6): "orders-service"}
    assert task_ids(ids) == {5}
    seen = judge(batches(5, -1, 6, 5), [], task_ids(ids))
    assert seen.others == (StrangeRecords(10, 30, 20, sure=True),)


def test_another_id_is_only_a_suspicion_where_mirror_maker_had_ids_that_nobody_lists() -> None:
    seen = judge(batches(5, 6, 6), [25], NOBODY)
    assert seen.others == (StrangeRecords(0, 10, 10, sure=False),)


def test_markers_are_nobodys_records() -> None:
    marked = [WrittenBatch(0, 10, 10, ProducerId(5)), WrittenBatch(10, 11, 0, ProducerId(9))]
    assert judge(marked, [3], NOBODY).others == ()


def test_more_records_than_the_source_has_offsets_show_between_two_syncs() -> None:
    both = [sync(0, 0), sync(20, 25)]
    seen = judge(batches(-1, -1, -1), [], NOBODY, both)
    assert seen.counted
    assert seen.others == (StrangeRecords(1, 25, 5, sure=False),)
    # Fewer records than offsets are a compacted source.
    assert judge(batches(-1, -1, -1), [], NOBODY, [sync(0, 0), sync(90, 25)]).others == ()
    # Where MirrorMaker 2 went back at the source, nothing can be counted.
    assert judge(batches(-1, -1, -1), [], NOBODY, [sync(50, 0), sync(40, 25)]).others == ()


def test_only_what_a_consumer_skips_counts() -> None:
    seen = judge(batches(-1, 7, -1), [5], NOBODY)
    assert seen.within(0, 10) == ()
    assert seen.within(20, 30) == ()
    assert seen.within(15, 16) == seen.others == seen.within(0, 11)


def test_nothing_to_look_at() -> None:
    assert judge([], [5], NOBODY).others == ()


@given(st.lists(st.tuples(st.integers(1, 5), st.integers(0, 2), st.booleans()), max_size=20))
def test_joining_batches_loses_nothing(drawn: list[tuple[int, int, bool]]) -> None:
    made, at = [], 0
    for records, producer, hole in drawn:
        end = at + records + hole
        made.append(WrittenBatch(at, end, records, ProducerId(producer - 1)))
        at = end
    found = list(joined(made))
    assert sum(each.records for each in found) == sum(each.records for each in made)
    assert [each.first for each in found[1:]] == [each.end for each in found[:-1]]
    assert judge(found, [0], NOBODY).others == judge(made, [0], NOBODY).others
    assert NO_ID == -1
