"""What can be repaired, why not, and the new incarnation in the ledger's books. Pure."""

from __future__ import annotations

import pickle
from dataclasses import replace

import pytest

from tests.support.ledger.books import opened, receipt
from tests.support.ledger.reasons import told
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import TransactionalProducer, decode, encode
from towpath.ledger.packed import Packer
from towpath.ledger.producers import generations
from towpath.mirror.repair.repair_plan import (
    PartitionFacts,
    Repair,
    Unrepairable,
    begin_at,
    hindered,
    new_incarnation,
)
from towpath.mirror.status.losses import LostRecords, loss
from towpath.mirror.verify.ranges import Bounds, by_change, common_range, kept_range
from towpath.model.nouns import (
    ClusterId,
    LinkName,
    Mode,
    ProducerId,
    SourceOffset,
    TargetOffset,
    TopicId,
    TopicName,
    TopicPartition,
)

LINK, T, CLUSTER = LinkName("l"), TopicName("t"), ClusterId("c")
TP = TopicPartition(T, 0)
OPENED = opened(source_start=SourceOffset(20), target_start=TargetOffset(20))
RECEIPT = receipt(
    source_end=SourceOffset(100),
    source_epoch=3,
    target_end=TargetOffset(100),
    sequence=80,
    records=80,
    bytes=800,
    run=(SourceOffset(90), TargetOffset(90), 10),
    packed=Packer([(SourceOffset(20), TargetOffset(20), 70)]).text(),
)
WRITER = TransactionalProducer(
    link=LINK,
    topic=T,
    partition=0,
    producer_id=OPENED.producer_id,
    writer=ProducerId(9),
    transactional_id="id",
    why=told("why"),
    target_start=TargetOffset(20),
    at=2,
)
LOST = LostRecords(TargetOffset(60), TargetOffset(100), SourceOffset(60), SourceOffset(100), 40)
GOOD = PartitionFacts(
    replicas=(1, 2),
    in_sync=(2, 1),
    high_watermark=60,
    log_end=60,
    open_since=-1,
    source_first=0,
    source_end=120,
)


def books() -> LinkBooks:
    made = LinkBooks(LINK)
    made.take(OPENED)
    made.take(RECEIPT)
    return made


def repaired(lost: LostRecords) -> LinkBooks:
    made = books()
    known = made.of(TP)
    repair = Repair(TP, TP, lost, begin_at(known, lost))
    for entry in new_incarnation(repair, known, CLUSTER, "run 2"):
        read = decode(*encode(entry))
        assert read == entry
        made.take(entry)
    return made


def test_nothing_hinders_where_all_replicas_stand_where_the_log_ends() -> None:
    assert loss(books().of(TP), TargetOffset(60)) == LOST
    assert hindered(TP, books().of(TP), LOST, GOOD) is None


@pytest.mark.parametrize(
    ("facts", "cause", "said"),
    [
        (
            replace(GOOD, in_sync=(1,)),
            Unrepairable.REPLICAS,
            "brokers 2 of the target are not in sync",
        ),
        (
            replace(GOOD, open_since=55),
            Unrepairable.TRANSACTION,
            "open on the target since offset 55",
        ),
        (replace(GOOD, log_end=61), Unrepairable.UNSETTLED, "the target log is still changing"),
        (replace(GOOD, high_watermark=59), Unrepairable.UNSETTLED, "now its high watermark is 59"),
        (
            replace(GOOD, source_first=61),
            Unrepairable.SOURCE_GONE,
            "neither cluster has offsets 60 to 60",
        ),
        (replace(GOOD, source_end=99), Unrepairable.SOURCE_CUT, "the source log ends at offset 99"),
    ],
)
def test_each_hindrance_says_what_is_left_to_do(
    facts: PartitionFacts, cause: Unrepairable, said: str
) -> None:
    left = hindered(TP, books().of(TP), LOST, facts)
    assert left is not None
    assert (left.cause, said in str(left), str(left).startswith("t-0: ")) == (cause, True, True)


def test_mapped_partitions_and_those_written_in_transactions_are_left() -> None:
    for entry in (replace(RECEIPT, mode=Mode.MAPPED, at=3), WRITER):
        made = books()
        made.take(entry)
        left = hindered(TP, made.of(TP), LOST, GOOD)
        assert left is not None
        assert left.cause is Unrepairable.MAPPED


def test_a_new_incarnation_goes_on_where_the_target_log_ends() -> None:
    known = repaired(LOST).of(TP)
    opened, receipt = known.opened, known.receipt
    assert opened is not None
    assert receipt is not None
    assert (opened.source_start, opened.target_start, receipt.sequence) == (60, 60, 0)
    assert (receipt.source_end, receipt.target_end, receipt.records) == (60, 60, 40)
    assert opened.producer_id != OPENED.producer_id
    assert known.heir(OPENED.producer_id) == opened.producer_id
    assert known.heir(ProducerId(8)) == 8, "the topic was made again since"
    assert known.own == {OPENED.producer_id, opened.producer_id}
    assert known.offsets().runs == ((20, 20, 40),)
    assert loss(known, TargetOffset(60)) is None


def test_a_copy_that_lost_all_and_begins_late_gets_its_front_again() -> None:
    known = repaired(
        LostRecords(TargetOffset(0), TargetOffset(100), SourceOffset(20), SourceOffset(100), 80)
    ).of(TP)
    assert known.opened is not None
    assert (known.opened.target_start, known.receipt) == (20, None)


def test_what_late_copiers_of_the_old_incarnation_say_does_not_count() -> None:
    made = repaired(LOST)
    made.take(
        replace(
            RECEIPT, source_end=SourceOffset(110), target_end=TargetOffset(110), records=90, at=9
        )
    )
    known = made.of(TP)
    assert known.receipt is not None
    assert known.receipt.source_end == 60


def test_a_second_repair_and_a_topic_made_again() -> None:
    made = repaired(LOST)
    known = made.of(TP)
    assert known.receipt is not None
    assert known.opened is not None
    made.take(
        replace(
            known.receipt,
            source_end=SourceOffset(90),
            target_end=TargetOffset(90),
            records=70,
            run=(SourceOffset(60), TargetOffset(60), 30),
        )
    )
    lost = loss(known, TargetOffset(40))
    assert lost == LostRecords(
        TargetOffset(40), TargetOffset(90), SourceOffset(40), SourceOffset(90), 50
    )
    again = new_incarnation(Repair(TP, TP, lost, SourceOffset(40)), known, CLUSTER, "run 3")
    for entry in again:
        made.take(entry)
    assert known.start == 20
    assert len(known.own) == 3
    assert known.heir(OPENED.producer_id) == known.opened.producer_id
    assert known.offsets().runs == ((20, 20, 20),)
    made.take(replace(OPENED, producer_id=ProducerId(99), target_topic_id=TopicId("u")))
    assert not known.repairs
    assert known.own == {99}


def test_what_is_copied_again_is_not_counted_again_under_the_same_change() -> None:
    """Also what an earlier repair has not copied again yet."""
    made = LinkBooks(LINK)
    made.take(replace(OPENED, change="a"))
    here = (SourceOffset(70), TargetOffset(70), "b")
    made.take(replace(RECEIPT, change="b", changed=(here,), tally=(("ids", 80),)))
    known = made.of(TP)
    for end, wanted in (
        (60, ((60, 70, "a"), (70, 100, "b"))),
        (50, ((50, 60, "a"), (60, 70, "a"), (70, 100, "b"))),
    ):
        lost = loss(known, TargetOffset(end))
        assert lost is not None
        repair = Repair(TP, TP, lost, begin_at(known, lost))
        for entry in new_incarnation(repair, known, CLUSTER, f"run {end}"):
            made.take(entry)
        assert known.receipt is not None
        assert known.receipt.tally == (("ids", 80),)
        assert known.receipt.counted == wanted


def test_a_repair_keeps_what_came_from_an_archive() -> None:
    """The number goes on, and so must the offsets of which it tells."""
    made = LinkBooks(LINK)
    made.take(OPENED)
    spans = ((SourceOffset(20), SourceOffset(70)),)
    made.take(replace(RECEIPT, tally=(("archived", 50),), archived=spans))
    known = made.of(TP)
    lost = loss(known, TargetOffset(60))
    assert lost is not None
    for entry in new_incarnation(Repair(TP, TP, lost, begin_at(known, lost)), known, CLUSTER, "r"):
        assert decode(*encode(entry)) == entry
        made.take(entry)
    assert known.receipt is not None
    assert (known.receipt.tally, known.receipt.archived) == ((("archived", 50),), spans)


def test_verification_goes_over_the_whole_log() -> None:
    made = repaired(LOST)
    known = made.of(TP)
    assert known.receipt is not None
    made.take(
        replace(
            known.receipt,
            source_end=SourceOffset(100),
            target_end=TargetOffset(100),
            records=80,
            run=(SourceOffset(60), TargetOffset(60), 40),
        )
    )
    whole = common_range(TP, known, Bounds(0, 0))
    assert whole is not None
    assert (whole.part.first, whole.part.end, whole.part.runs) == (20, 100, ((20, 20, 80),))
    assert whole.part.producers == generations(*known.own)
    assert len(pickle.dumps(whole.part)) < 1000  # there may be ten thousand of them


@pytest.mark.parametrize(
    ("end", "told"),
    [
        (40, [(20, 40, "before"), (40, 100, "now")]),
        (60, [(20, 60, "before"), (60, 100, "now")]),
        (80, [(20, 60, "before"), (60, 80, "after"), (80, 100, "now")]),
        (10, [(20, 100, "now")]),
    ],
)
def test_each_record_is_compared_under_the_change_that_it_was_copied_under(
    end: int, told: list[tuple[int, int, str]]
) -> None:
    """Those that the target kept, and those that are copied again, as the file says now."""
    made = LinkBooks(LINK)
    made.take(replace(OPENED, change="before"))
    here = (SourceOffset(60), TargetOffset(60), "after")
    made.take(replace(RECEIPT, change="after", changed=(here,)))
    known = made.of(TP)
    lost = loss(known, TargetOffset(end))
    assert lost is not None
    repair = Repair(TP, TP, lost, begin_at(known, lost))
    for entry in new_incarnation(repair, known, CLUSTER, "run 2"):
        made.take(entry)
    assert known.opened is not None
    at = known.receipt.source_end if known.receipt is not None else known.opened.source_start
    copied = replace(  # as an opening does that finds another change in the file
        known.receipt or replace(RECEIPT, producer_id=known.opened.producer_id),
        source_end=SourceOffset(100),
        target_end=TargetOffset(100),
        change="now",
        changed=(*known.changed, (at, TargetOffset(at), "now")),
    )
    made.take(copied)
    whole = common_range(TP, known, Bounds(0, 0))
    assert whole is not None
    parts = [each.part for each in by_change(whole, known)]
    assert [(each.first, each.end, each.change) for each in parts] == told


def test_only_what_both_sides_hold_below_the_end_is_compared_first() -> None:
    found = kept_range(TP, books().of(TP), Bounds(30, 25), TargetOffset(60))
    assert found is not None
    part = found.part
    assert (part.first, part.end, part.target_first, part.target_end) == (30, 60, 30, 60)
    assert kept_range(TP, books().of(TP), Bounds(0, 60), TargetOffset(60)) is None
