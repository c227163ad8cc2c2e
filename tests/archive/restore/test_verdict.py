"""What comes of the comparison of a target with its archive."""

from __future__ import annotations

from dataclasses import replace

from towpath.archive.errors import RestoreDiffersError
from towpath.archive.model import PartitionId
from towpath.archive.read.feed.keyed_layout import KeyedLayout
from towpath.archive.restore.model import RestorePart, RestoreScope, RestoreTopic
from towpath.archive.restore.proof.proof_plan import without
from towpath.archive.restore.proof.proof_work import ComparedRange
from towpath.archive.restore.proof.verdict import PartProof, ProofState, verdicts
from towpath.archive.show.restore_json import proof_data
from towpath.model.digest import Digest
from towpath.model.nouns import ClusterId, SourceOffset, TopicId, TopicName, TopicPartition
from towpath.topics.observed import Topic

NAME = TopicName("orders")
IDS = [PartitionId(ClusterId("c"), TopicId("t"), n) for n in range(2)]
PARTS = tuple(
    RestorePart(id=each, start=SourceOffset(0), end=SourceOffset(20), records=20) for each in IDS
)
TOPIC = RestoreTopic(
    topic=Topic(NAME, TopicId("t"), 2, 1), cluster=ClusterId("c"), target=NAME, parts=PARTS
)
SCOPE = RestoreScope(region="eu", version=1, at=1, topics={NAME: TOPIC})
ONE, TWO = Digest(10, 5, 7), Digest(10, 6, 8)


def compared(partition: int, first: int, archived: Digest, restored: Digest) -> ComparedRange:
    return ComparedRange(
        tp=TopicPartition(NAME, partition),
        first=first,
        end=first + 10,
        target_first=first + 100,
        target_end=first + 110,
        archived=archived,
        restored=restored,
    )


def judged(*some: ComparedRange, scope: RestoreScope = SCOPE) -> list[PartProof]:
    return [*verdicts(scope, some)]


def test_digests_of_ranges_that_follow_each_other_are_one() -> None:
    equal, missing = judged(compared(0, 0, ONE, ONE), compared(0, 10, TWO, TWO))
    assert (equal.state, equal.first, equal.end, equal.ranges) == (ProofState.EQUAL, 0, 20, 2)
    assert equal.archived == ONE.then(TWO)
    assert (missing.state, missing.why) == (
        ProofState.UNCOMPARED,
        "nothing of it was compared, as it is not restored",
    )


def test_the_first_range_that_differs_is_named() -> None:
    other, lost = judged(
        compared(0, 0, ONE, ONE),
        compared(0, 10, TWO, ONE),
        compared(1, 0, ONE, Digest(9, 5, 7)),
    )
    assert other.state is lost.state is ProofState.DIFFERENT
    assert other.why == (
        "archived offsets 10 to 19, on the target 110 to 119: 10 records as in the archive, and at"
        " least one of them is another one"
    )
    assert str(RestoreDiffersError(lost.named, lost.why)) == (
        "orders-1: the target differs from the archive: archived offsets 0 to 9, on the target 100"
        " to 109: 9 records instead of 10; delete its topic on the target, and start the restore"
        " again"
    )


def test_what_could_not_be_read_is_neither_equal_nor_different() -> None:
    found = judged(replace(compared(0, 0, ONE, Digest()), why="the store is away"))[0]
    assert (found.state, found.why) == (ProofState.UNCOMPARED, "the store is away")
    assert proof_data(found)["state"] == "not compared"


def test_records_that_are_placed_by_keys_are_compared_as_a_whole() -> None:
    layout = KeyedLayout.of([(each.id, each.start, each.end) for each in PARTS], 2, 2)
    scope = replace(SCOPE, topics={NAME: replace(TOPIC, asked=2, layout=layout)})
    both = compared(0, 0, ONE, TWO), compared(1, 0, TWO, ONE)
    [equal] = judged(*both, scope=scope)
    assert (equal.state, equal.partition, equal.archived.records) == (ProofState.EQUAL, None, 20)
    [other] = judged(both[0], compared(1, 0, TWO, TWO), scope=scope)
    assert other.state is ProofState.DIFFERENT
    assert "its 2 partitions together have 20 records as in the archive" in other.why


def test_lost_offsets_are_left_out() -> None:
    whole = [(SourceOffset(0), SourceOffset(20))]
    assert without(whole, (5, 8)) == [(0, 5), (8, 20)]
    assert without(whole, (0, 20)) == []
    assert without(whole, (15, 30)) == [(0, 15)]


def test_records_of_others_are_a_difference_where_nobody_else_may_write() -> None:
    found = [replace(compared(0, 0, ONE, ONE), others=3), compared(0, 10, TWO, TWO)]
    alone, _ = judged(*found)
    assert (alone.state, alone.others) == (ProofState.DIFFERENT, 3)
    assert alone.why.startswith("3 records of others stand among those that were restored")
    together, _ = verdicts(SCOPE, found, shared=True)
    assert (together.state, together.others, together.why) == (ProofState.EQUAL, 3, "")
