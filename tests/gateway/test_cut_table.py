"""A batch for the target is judged as the source would have judged it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from towpath.gateway.cut_table import KNOWN, CutTable, CutVerdict, SentBatch
from towpath.ledger.entries import LastBatch, PromotedPartition, PromotedTopic
from towpath.model.nouns import TopicId, TopicName

PLACE = "t", 0
ID, SEQUENCES = 1 << 62, 1 << 31


def table(last: int, epoch: int = 0) -> CutTable:
    made = CutTable()
    producers = (LastBatch(id=ID, epoch=epoch, sequence=last),)
    partition = PromotedPartition(partition=0, end=5, producers=producers)
    ids = TopicId("a"), TopicId("b")
    topic = PromotedTopic(
        topic=TopicName("t"), source_id=ids[0], target_id=ids[1], partitions=(partition,)
    )
    made.add([topic])
    return made


def batch(sequence: int, records: int = 3, *, epoch: int = 0, producer: int = ID) -> SentBatch:
    return SentBatch(producer, epoch, sequence % SEQUENCES, records)


@pytest.mark.parametrize("last", [2, 100, 0, SEQUENCES - 1, SEQUENCES - 2])
def test_what_the_source_holds_is_a_repeat_and_the_next_one_is_the_first(last: int) -> None:
    made = table(last)
    assert made.judge(PLACE, batch(last - 2)) is CutVerdict.REPEAT
    assert made.judge(PLACE, batch(last - 14)) is CutVerdict.REPEAT
    assert made.judge(PLACE, batch(last + 1)) is CutVerdict.FIRST
    assert made.judge(PLACE, batch(last + 4)) is CutVerdict.EARLY


def test_nothing_overtakes_the_first_batch() -> None:
    made, first, second = table(9), batch(10), batch(13)
    made.sent(PLACE, first)
    assert made.judge(PLACE, second) is CutVerdict.WAIT
    made.answered(PLACE, first, taken=False)
    assert made.judge(PLACE, second) is CutVerdict.EARLY
    assert made.judge(PLACE, first) is CutVerdict.FIRST
    made.sent(PLACE, first)
    made.answered(PLACE, first, taken=True)
    assert made.judge(PLACE, second) is CutVerdict.SEND
    assert made.judge(PLACE, first) is CutVerdict.SEND, "the target knows it by itself"
    assert made.judge(PLACE, batch(7)) is CutVerdict.REPEAT, "it may still be on its way"


def test_a_producer_is_forgotten_when_no_older_batch_can_come() -> None:
    made = table(9)
    for number in range(KNOWN):
        sent = batch(10 + 3 * number)
        made.sent(PLACE, sent)
        made.answered(PLACE, sent, taken=True)
    assert len(made) == 0
    assert made.judge(PLACE, batch(7)) is CutVerdict.SEND


def test_epochs_of_a_producer() -> None:
    made = table(9, epoch=4)
    assert made.judge(PLACE, batch(10, epoch=3)) is CutVerdict.FENCED
    newer = batch(0, epoch=5)
    assert made.judge(PLACE, newer) is CutVerdict.SEND
    made.sent(PLACE, newer)
    made.answered(PLACE, newer, taken=True)
    assert len(made) == 0


@pytest.mark.parametrize("producer", [-1, ID + 1])
def test_other_producers_are_judged_by_the_target(producer: int) -> None:
    assert table(9).judge(PLACE, batch(0, producer=producer)) is CutVerdict.SEND
    assert table(9).judge(("t", 1), batch(0)) is CutVerdict.SEND


def test_a_gateway_that_begins_finds_what_the_target_knows() -> None:
    made = table(9)
    made.knows(PLACE, ID, 0, 12)
    assert made.judge(PLACE, batch(13)) is CutVerdict.SEND
    assert made.judge(PLACE, batch(7)) is CutVerdict.REPEAT
    made.knows(PLACE, ID, 1, 0)
    assert len(made) == 0


@given(st.integers(0, SEQUENCES - 1), st.lists(st.integers(1, 5), min_size=1, max_size=12))
def test_each_batch_is_taken_once_wherever_the_cut_was(start: int, sizes: list[int]) -> None:
    """A client sends all its batches again, from any that the source held."""
    made = table((start - 1) % SEQUENCES)
    held = sizes[: len(sizes) // 2]
    at = (start - sum(held)) % SEQUENCES
    taken = []
    for size in sizes:
        sent = batch(at, size)
        verdict = made.judge(PLACE, sent)
        if verdict in {CutVerdict.FIRST, CutVerdict.SEND}:
            made.sent(PLACE, sent)
            made.answered(PLACE, sent, taken=True)
            taken.append(at)
        else:
            assert verdict is CutVerdict.REPEAT
        at = (at + size) % SEQUENCES
    assert len(taken) == len(sizes) - len(held)
    assert taken[0] == start


def test_what_the_target_was_asked_for_is_left_to_it() -> None:
    made = table(9)
    made.knows(PLACE, ID, 0, 30)
    assert made.judge(PLACE, batch(40)) is CutVerdict.SEND, "another gateway led batches there"
    made = table(9)
    made.forget_all_but(PLACE, {ID})
    assert made.judge(PLACE, batch(40)) is CutVerdict.EARLY
    made.forget_all_but(("u", 0), set())
    assert made.judge(PLACE, batch(40)) is CutVerdict.EARLY
    made.forget_all_but(PLACE, set())
    assert made.judge(PLACE, batch(40)) is CutVerdict.SEND, "both clusters have forgotten it"


def test_a_batch_on_its_way_is_not_forgotten() -> None:
    made, first = table(9), batch(10)
    made.sent(PLACE, first)
    made.forget_all_but(PLACE, set())
    assert made.judge(PLACE, batch(13)) is CutVerdict.WAIT
