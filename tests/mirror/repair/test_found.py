"""What the logs of the target tell where the ledger is lost, and what proves it. Pure."""

from __future__ import annotations

from dataclasses import replace

import pytest

from towpath.compare.work import Comparison, Counts, RecordDifference
from towpath.ledger.books import LinkBooks
from towpath.ledger.producers import of_generation
from towpath.mirror.repair.found import (
    BooklessMirror,
    FoundPlace,
    LostCause,
    LostPlace,
    entries,
    hindered,
    judged,
    last_own,
)
from towpath.model.nouns import LinkName, Mode, ProducerId, TopicId, TopicName, TopicPartition
from towpath.records.standing import known_standing
from towpath.wire.digest import Digest
from towpath.wire.header import CONTROL, BatchHeader

TP, COPY = TopicPartition(TopicName("t"), 0), TopicPartition(TopicName("eu.t"), 0)
FIRST = ProducerId(1 << 40)


def batch(base: int = 90, sequence: int = 80, producer: int = FIRST, **more: int) -> BatchHeader:
    fields = {
        "base_offset": base, "length": 100, "leader_epoch": 0, "magic": 2, "crc": 0,
        "attributes": 0, "last_offset_delta": 9, "first_timestamp": 5, "max_timestamp": 7,
        "producer_id": producer, "producer_epoch": 0, "base_sequence": sequence, "count": 10,
    }  # fmt: skip
    return BatchHeader(**(fields | more))


ORPHAN = BooklessMirror(
    link=LinkName("l"), source=TP, target=COPY, source_id=TopicId("s"), target_id=TopicId("d"),
    producer_id=FIRST, start=20, end=100, high_watermark=100, source_start=0, source_end=150,
    changed=False, last=batch(), remembered=89,
)  # fmt: skip


def test_the_last_batch_of_records_tells_sequence_and_generation() -> None:
    third = batch(producer=of_generation(FIRST, 3), sequence=(1 << 31) - 4)
    marker = batch(base=100, producer=FIRST, attributes=CONTROL)
    others = batch(base=101, producer=17)
    assert last_own(iter([batch(), third, marker, others]), FIRST) == third
    assert last_own(iter([marker, others]), FIRST) is None
    at = replace(ORPHAN, last=third)
    assert (at.generation, at.sequence) == (3, 6), "sequences go on at 0 behind 2^31 - 1"


@pytest.mark.parametrize(
    ("orphan", "cause"),
    [
        (ORPHAN, None),
        (replace(ORPHAN, remembered=-1), None),
        (replace(ORPHAN, changed=True), LostCause.CHANGED),
        (replace(ORPHAN, last=None), LostCause.NO_RECORDS),
        (replace(ORPHAN, high_watermark=99), LostCause.UNSETTLED),
        (replace(ORPHAN, remembered=95), LostCause.UNSETTLED),
        (replace(ORPHAN, source_end=99), LostCause.SOURCE_SHORT),
        (replace(ORPHAN, source_start=100), LostCause.NOTHING_COMMON),
    ],
)
def test_what_keeps_a_place_from_being_found(
    orphan: BooklessMirror, cause: LostCause | None
) -> None:
    found = hindered(orphan)
    assert (found.cause if found else None) == cause


def comparison(
    counts: Counts, difference: RecordDifference | None = None, stopped: str = "", beyond: int = 0
) -> Comparison:
    same = Digest()
    return Comparison(
        source=TP, target=COPY, first=20, end=100, source_digest=same, target_digest=same,
        counts=counts, bytes=800, difference=difference, stopped=stopped, beyond=beyond,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("found", "cause"),
    [
        (comparison(Counts(equal=80)), None),
        (comparison(Counts(equal=70, compacted=10)), None),
        (None, LostCause.NOTHING_COMMON),
        (comparison(Counts()), LostCause.NOTHING_COMMON),
        (comparison(Counts(equal=79, changed=1), RecordDifference(3, 3, "values")), "different"),
        (comparison(Counts(equal=79), stopped="from source offset 99 on"), LostCause.DIFFERENT),
        (comparison(Counts(equal=79, foreign=1)), LostCause.DIFFERENT),
        (comparison(Counts(equal=80), beyond=4), LostCause.DIFFERENT),
    ],
)
def test_only_equal_records_at_equal_offsets_prove_a_place(
    found: Comparison | None, cause: LostCause | None
) -> None:
    made = judged(ORPHAN, found)
    assert (made.cause if isinstance(made, LostPlace) else None) == cause
    if isinstance(made, FoundPlace):
        assert f"goes on at offset 100, sequence 90; all {made.compared} records" in str(made)
    else:
        assert "delete the topic on the target" in str(made)


def test_a_run_goes_on_at_the_end_of_the_log() -> None:
    books = LinkBooks(LinkName("l"))
    for entry in entries(ORPHAN, "run", 80, 800):
        books.take(entry)
    known = books.of(TP)
    assert known.is_of(FIRST)
    standing = known_standing(known, at=0)
    place = standing.position
    assert (place.source, place.target, place.sequence, place.generation) == (100, 100, 90, 0)
    assert (standing.mode, standing.records, known.start) == (Mode.IDENTICAL, 80, 20)
