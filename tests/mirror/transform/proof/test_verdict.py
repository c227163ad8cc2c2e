"""Verdicts on partitions whose records go through a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from towpath.compare.row_sums import RowCollector, RowLook, RowSum
from towpath.ledger.entries import Cut
from towpath.ledger.transformed import TransformedPosition, decode, encode
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.mirror.transform.proof.others import FoundOthers
from towpath.mirror.transform.proof.stand import ProofStand
from towpath.mirror.transform.proof.sums import Needed, Proof, needs
from towpath.mirror.transform.proof.verdict import verdict_of
from towpath.mirror.verify.verdict import PartitionVerdict, Verdict
from towpath.model.nouns import (
    LinkName,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicName,
    TopicPartition,
)
from towpath.wire import plain

SOURCE = TopicPartition(TopicName("a"), 0)
HERE = SOURCE, TopicPartition(TopicName("b"), 0)
THERE = SOURCE, TopicPartition(TopicName("b"), 1)
ID = TopicId("id")


def row(lag: int = 0, error: str = "") -> PartitionStatus:
    return PartitionStatus(
        topic=SOURCE.topic, partition=0, target_topic=TopicName("b"),
        state=State.BEHIND if lag else State.CAUGHT_UP, mode="transformed", reason="",
        producer_id=1, source_end=4, target_end=-1, lag_records=lag, lag_seconds=0.0, records=4,
        bytes=1, gaps=(), error=error,
    )  # fmt: skip


def stand(written: int = 4, first: int = 0, **more: Any) -> ProofStand:
    at = TransformedPosition(ID, 4, read=4, written=written, first=0, queries=((0, "q"),))
    told = {"row": row(), "position": at, "first": first, "since": 0, "earliest": first,
            "mirrors": frozenset({HERE[1].topic})}  # fmt: skip
    return ProofStand(**{**told, **more})


def sums(pair: Any, hashes: Sequence[int]) -> RowSum:
    collector = RowCollector(RowLook({}, frozenset({pair})))
    numbers = np.array(hashes, np.uint64)
    collector.take(pair, numbers, numbers, np.arange(len(hashes), dtype=np.int64))
    return collector.found[pair]


def judged(
    made: Any, there: Any, where: ProofStand, others: Any = (), clients: Any = (), **more: bool
) -> PartitionVerdict:
    """Judge as `towpath verify` does, which looks again where sums do not tell enough."""
    beside = FoundOthers({(HERE[1], who): n for who, n in dict(others).items()}, dict(clients))
    proof = Proof(read={SOURCE: 4}, beside=beside)
    proof.take({p: sums(p, h) for p, h in made.items()}, {p: sums(p, h) for p, h in there.items()},
               None)  # fmt: skip
    for _ in range(2):
        wanted = needs(proof, {SOURCE: where})
        if wanted.pairs:
            proof.take(_rest(made, wanted, wanted.made), _rest(there, wanted, wanted.there), wanted)
    return verdict_of(where, proof, **more)


def _rest(found: Any, wanted: Needed, skips: Any) -> dict[Any, RowSum]:
    return {p: sums(p, found.get(p, [])[skips.get(p, 0) :]) for p in wanted.pairs}


def test_equal_is_what_is_the_same_in_each_partition() -> None:
    both = {HERE: [1, 2], THERE: [3, 4]}
    found = judged(both, both, stand())
    assert (found.verdict, found.why, found.codes) == (Verdict.EQUAL, "", ())
    assert found.comparison is not None
    assert (found.comparison.counts.equal, found.comparison.equal) == (4, True)
    assert judged(both, both, stand(row=row(lag=3))).verdict is Verdict.LEFT_OUT


@pytest.mark.parametrize(
    ("there", "said", "counts"),
    [
        (
            {HERE: [1, 9], THERE: [3, 4]},
            "1 records differ from what the query makes now",
            (1, 0, 0),
        ),
        ({HERE: [1], THERE: [3, 4]}, "1 records are missing on the target", (0, 1, 0)),
        ({HERE: [1, 2, 2], THERE: [3, 4]}, "1 records are on the target more often", (0, 0, 1)),
        ({HERE: [2, 1], THERE: [3, 4]}, "2 records are in another order", (2, 0, 0)),
        ({HERE: [1], THERE: [3, 2, 4]}, "1 records are in other partitions", (1, 0, 0)),
        ({HERE: [1, 2], THERE: [3, 4, 8]}, "1 records are on the target alone", (0, 0, 1)),
    ],
)
def test_each_difference_has_its_words_and_numbers(
    there: Any, said: str, counts: tuple[int, int, int]
) -> None:
    found = judged({HERE: [1, 2], THERE: [3, 4]}, there, stand(python=True))
    assert found.verdict is Verdict.DIFFERENT
    assert said in found.why
    assert "the query calls Python, so it may have made other records then" in found.why
    assert found.comparison is not None
    told = found.comparison.counts
    assert (told.changed, told.missing, told.extra) == counts
    assert not found.comparison.equal


def test_the_number_that_the_position_tells_is_compared_also_where_values_are_not() -> None:
    there = {HERE: [1, 2]}
    found = judged({}, there, stand(written=2, first=-1, never="the query has `now`"))
    assert (found.verdict, found.why) == (
        Verdict.LEFT_OUT, "positions compared, values not: the query has `now`",
    )  # fmt: skip
    found = judged({}, there, stand(written=3, first=-1, never="the query has `now`"))
    assert found.verdict is Verdict.DIFFERENT
    assert "its position tells of 3 records, the target has 2" in found.why


def test_what_one_side_no_longer_has_is_left_out_of_both() -> None:
    found = judged({HERE: [3, 4]}, {HERE: [1, 2, 3, 4]}, stand(first=2))
    assert (found.verdict, found.comparison and found.comparison.counts.expired) == (
        Verdict.EQUAL, 2,
    )  # fmt: skip
    assert judged({HERE: [3, 4]}, {HERE: [1, 2, 3, 9]}, stand(first=2)).verdict is Verdict.DIFFERENT
    short = stand(shortened=frozenset({HERE[1]}))
    whole = {HERE: [1, 2, 3, 4]}
    found = judged(whole, {HERE: [3, 4]}, short)
    assert (found.verdict, found.codes) == (Verdict.DELETED, ("TARGET_DELETED",))
    assert "its position tells of 4 records, the target has 2" in found.notes
    assert judged(whole, {HERE: [3, 4]}, short, may_delete=True).verdict is Verdict.EQUAL
    found = judged(whole, whole, short)
    assert not any("its position tells" in each for each in found.notes)
    assert judged(whole, {HERE: [3, 9]}, short).verdict is Verdict.DIFFERENT


def test_others_may_write_only_where_the_file_says_so() -> None:
    both = {HERE: [1, 2, 3, 4]}
    found = judged(both, both, stand(), {77: 5})
    assert found.verdict is Verdict.DIFFERENT
    assert (found.others[0].producer, found.others[0].records) == (77, 5)
    assert found.why == "5 records of other producers in b-0"
    assert judged(both, both, stand(shared=True), {77: 5}).verdict is Verdict.EQUAL
    elsewhere = stand(mirrors=frozenset({TopicName("c")}))
    assert judged(both, both, elsewhere, {77: 5}).verdict is Verdict.EQUAL
    open_one = stand(unsettled=frozenset({HERE[1]}))
    assert judged(both, both, open_one).verdict is Verdict.LEFT_OUT


def test_what_clients_wrote_behind_a_cutover_is_theirs_and_counted() -> None:
    both = {HERE: [1, 2, 3, 4]}
    cut = Cut(
        link=LinkName("l"), topic=SOURCE.topic, partition=0, producer_id=Cut.THROUGH_QUERY,
        source_end=SourceOffset(4), target_end=TargetOffset(4), records=4, at=0,
    )  # fmt: skip
    found = judged(both, both, stand(row=replace(row(), cut=cut)), clients={(HERE[1], 77): 5})
    assert (found.verdict, found.clients[0].records) == (Verdict.EQUAL, 5)
    assert found.notes[0] == (
        f"5 records in {HERE[1]} behind the cutover of 1970-01-01T00:00:00Z are the clients' own"
        " (5 of producer 77)"
    )


def test_only_numbers_were_compared_where_nothing_else_is_wrong_but_news_of_the_source() -> None:
    never: Any = {"first": -1, "never": "the query has `now`"}
    for lag, written, only in ((0, 2, True), (3, 2, True), (0, 3, False)):
        found = judged({}, {HERE: [1, 2]}, stand(row=row(lag=lag), written=written, **never))
        assert found.counted_only is only, (lag, written)
    both = {HERE: [1, 2, 3, 4]}
    assert not judged(both, both, stand(row=row(lag=3))).counted_only


def test_positions_tell_their_producers_and_queries_also_those_of_an_earlier_form() -> None:
    at = TransformedPosition(ID, 5, first=5).then(9, 4, 3, 100, "q1").by(1, 0)
    at = at.then(12, 3, 3, 50, "q1").by(1, 1).then(15, 3, 3, 50, "q2").by(2, 0)
    assert (at.earlier, at.producer_id, at.queries) == ((1,), 2, ((5, "q1"), (12, "q2")))
    assert (at.since("q2"), at.since("q1"), at.bytes, at.first) == (12, -1, 200, 5)
    assert decode(encode(SOURCE, at)) == (SOURCE, at)
    old = b'{"form": 1, "topic_id": "id", "end": 5, "read": 5, "written": 4}'
    _, read = decode(plain.Record(b'["a", 0]', old))
    assert (read.first, read.since("q1")) == (-1, -1)
    found = judged({}, {HERE: [1]}, stand(first=-1, position=read))
    assert "an earlier version of Towpath wrote its records" in found.why
