"""The format of the ledger: what is written can be read, by this version and by later ones."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.ledger.reasons import RETENTION, told
from towpath.ledger import entries
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import (
    Attempt,
    Cut,
    Dealt,
    EndOffsets,
    Entry,
    FirstLook,
    Gap,
    Journal,
    LeaseHolder,
    LinkIdentity,
    LinkLease,
    MissingEvents,
    Opened,
    Phase,
    Receipt,
    Removed,
    Runs,
    Session,
    TransactionalProducer,
)
from towpath.model.errors import LedgerError, NewerLedgerError, NewerLinkError
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
from towpath.model.reasons import Reason, ReasonCode

LINK = LinkName("orders-to-new")
ORDERS = TopicName("orders")
number = st.integers(0, 2**62)
runs = st.tuples(number, number, st.integers(1, 2**40))


def opened(producer: int = 1, run: str = "r", start: int = 0) -> Opened:
    return Opened(
        link=LINK,
        topic=ORDERS,
        partition=0,
        source_topic_id=TopicId("s"),
        target_topic=TopicName("eu.orders"),
        target_topic_id=TopicId("t"),
        producer_id=ProducerId(producer),
        mode=Mode.IDENTICAL,
        reasons=(),
        source_start=SourceOffset(start),
        target_start=TargetOffset(start),
        run_id=run,
        at=5,
    )


def receipt(producer: int = 1, end: int = 10, at: int = 6, error: str = "") -> Receipt:
    return Receipt(
        link=LINK,
        topic=ORDERS,
        partition=0,
        producer_id=ProducerId(producer),
        source_end=SourceOffset(end),
        source_epoch=3,
        target_end=TargetOffset(end),
        sequence=end,
        records=end,
        bytes=99,
        first_timestamp=1,
        last_timestamp=2,
        digest=7,
        mode=Mode.MAPPED,
        reasons=(told("why"), RETENTION),
        run=(SourceOffset(0), TargetOffset(0), end),
        trouble=told(error) if error else None,
        at=at,
    )


ENTRIES: list[Entry] = [
    LinkIdentity(LINK, ClusterId("a"), ClusterId("b")),
    FirstLook(LINK, "r", 4),
    EndOffsets(
        link=LINK,
        topic=ORDERS,
        topic_id=TopicId("s"),
        offsets=(SourceOffset(7), SourceOffset(-1)),
        epochs=(-1, 3),
        at=4,
    ),
    opened(),
    receipt(),
    Runs(
        link=LINK,
        topic=ORDERS,
        partition=0,
        producer_id=ProducerId(1),
        runs=((SourceOffset(0), TargetOffset(0), 5), (SourceOffset(7), TargetOffset(5), 2)),
    ),
    Gap(
        link=LINK,
        topic=ORDERS,
        partition=0,
        producer_id=ProducerId(1),
        first=SourceOffset(5),
        end=SourceOffset(7),
        why=Reason.of(ReasonCode.SOURCE_CUT, end=5),
        went_on=True,
        at=8,
        target=TargetOffset(7),
    ),
    TransactionalProducer(
        link=LINK,
        topic=ORDERS,
        partition=0,
        producer_id=ProducerId(1),
        writer=ProducerId(4),
        transactional_id="towpath.l.orders-0",
        why=told("why"),
        target_start=TargetOffset(3),
        at=8,
    ),
    Journal(
        link=LINK,
        subject="topics",
        name="eu.orders",
        do="SetConfigs",
        part="retention.ms",
        step={"do": "SetConfigs", "set": {"retention.ms": "1"}},
        phase=Phase.DONE,
        plan="abc",
        owned=True,
        topic_id=TopicId("t"),
        error="",
        at=9,
    ),
    Session(
        link=LINK, run_id="r", host="host", pid=1, started=2, beat=3, ended_round=4, over=False
    ),
    LinkLease(
        link=LINK,
        owner="o",
        command="run",
        host="host",
        pid=1,
        since=2,
        beat=3,
        over=False,
        replaced=LeaseHolder(command="apply", host="host", pid=2, since=1),
        missing_events=MissingEvents(3, "target: gone"),
    ),
    Dealt(
        link=LINK,
        run_id="r",
        round=2,
        slice=1,
        number=0,
        facts_from=5,
        settled=True,
        partitions=({"source": {"topic": "orders", "partition": 0}},),
    ),
    Attempt(link=LINK, run_id="r", round=2, slice=1, attempt=1, name="one"),
    Cut(
        link=LINK,
        topic=ORDERS,
        partition=0,
        producer_id=ProducerId(1),
        source_end=SourceOffset(12),
        target_end=TargetOffset(10),
        records=10,
        at=9,
    ),
]


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.kind)
def test_an_entry_comes_back(entry: Entry) -> None:
    assert entries.decode(*entries.encode(entry)) == entry


def test_missing_events_are_counted_and_explained() -> None:
    topic = "topic __towpath_events"
    assert (
        str(MissingEvents(1, "target: gone")) == f"1 event is not written to {topic}: target: gone"
    )
    assert str(MissingEvents(2)) == f"2 events are not written to {topic}: too many at once"


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.kind)
def test_fields_of_a_later_minor_version_are_passed_over(entry: Entry) -> None:
    key, value = entries.encode(entry)
    assert value is not None
    later = json.dumps({**json.loads(value), "of a later version": [1]}).encode()
    assert entries.decode(key, later) == entry


def test_kinds_of_a_later_minor_version_are_passed_over() -> None:
    assert entries.decode(b'["segment","l"]', b'{"v":1,"x":2}') is None


def newer(entry: Entry) -> entries.ReadEntry:
    key, value = entries.encode(entry)
    assert value is not None
    found = entries.decode(key, json.dumps({**json.loads(value), "v": 2}).encode())
    assert found is not None
    return found


def test_a_newer_major_version_of_the_link_is_refused() -> None:
    with pytest.raises(NewerLedgerError) as raised:
        books_of(newer(ENTRIES[0]))
    assert str(raised.value) == (
        "the ledger on the target was written in format 2, this program knows up to 1; use the"
        " Towpath that wrote it, or a newer one"
    )


def test_a_newer_major_version_of_another_link_stops_nobody() -> None:
    other = newer(replace(receipt(), link=LinkName("other")))
    assert books_of(other, opened(), receipt()).of(TopicPartition(ORDERS, 0)).receipt == receipt()


def test_a_link_that_needs_more_than_this_program_knows_is_refused() -> None:
    later = LinkIdentity(LINK, ClusterId("a"), ClusterId("b"), entries.LEVEL + 1, "9.3.0")
    with pytest.raises(NewerLinkError) as raised:
        books_of(ENTRIES[0], later)
    assert raised.value.args == (LINK, "9.3.0", entries.LEVEL + 1, entries.LEVEL)
    assert "used by the Towpath that wrote it and" in str(NewerLinkError("l", "", 3, 2))


def test_a_link_that_needs_more_stops_no_other_link() -> None:
    other = LinkName("other")
    later = LinkIdentity(other, ClusterId("a"), ClusterId("b"), entries.LEVEL + 1, "9.3.0")
    assert books_of(later, ENTRIES[0]).identity == ENTRIES[0]


def test_a_higher_level_holds_and_the_first_clusters_do() -> None:
    first = LinkIdentity(LINK, ClusterId("a"), ClusterId("b"), level=0)
    later = LinkIdentity(LINK, ClusterId("x"), ClusterId("y"), level=1, version="0.2.0")
    expected = replace(first, level=1, version="0.2.0")
    assert books_of(first, later).identity == expected
    assert books_of(first, later, first).identity == expected


def test_fields_that_were_added_later_have_defaults() -> None:
    key, value = entries.encode(receipt())
    assert value is not None
    body = json.loads(value)
    del body["copier"], body["cuts"]
    assert entries.decode(key, json.dumps(body).encode()) == receipt()
    assert json.loads(key) == ["receipt", LINK, ORDERS, 0]


def test_keys_of_others_are_named() -> None:
    with pytest.raises(LedgerError, match="someone else writes to __towpath_ledger"):
        entries.decode(b"x", b"{}")
    with pytest.raises(LedgerError, match="someone else writes to __towpath_ledger"):
        entries.decode(b"[]", b'{"v":1}')


@pytest.mark.parametrize("value", [b'{"v":1}', b"{", b"[]"])
def test_entries_without_content_are_named_where_they_concern_the_link(value: bytes) -> None:
    found = entries.decode(b'["link","orders-to-new"]', value)
    assert found is not None
    with pytest.raises(LedgerError, match="someone else writes to __towpath_ledger"):
        books_of(found)
    LinkBooks(LinkName("other")).take(found)


def test_removed_entries_tell_their_key() -> None:
    written = replace(receipt(), copier="c")
    removed = Removed("receipt", LINK, written.about())
    assert entries.encode(removed) == (entries.encode(written)[0], None)
    assert entries.decode(*entries.encode(removed)) == removed
    known = books_of(opened(), receipt(), written, removed).of(TopicPartition(ORDERS, 0))
    assert known.standing == (receipt(),)
    assert entries.decode(None, b"{}") is None


@given(st.lists(runs, min_size=1, max_size=5))
def test_runs_come_back(some: list[entries.Run]) -> None:
    entry = Runs(link=LINK, topic=ORDERS, partition=0, producer_id=ProducerId(1), runs=tuple(some))
    assert entries.decode(*entries.encode(entry)) == entry


def books_of(*facts: entries.ReadEntry) -> LinkBooks:
    books = LinkBooks(LINK)
    for fact in facts:
        books.take(fact)
    return books


def test_of_two_openings_of_one_incarnation_the_first_holds() -> None:
    books = books_of(opened(run="first", start=5), opened(run="second", start=9))
    known = books.of(TopicPartition(ORDERS, 0)).opened
    assert known is not None
    assert known.run_id == "first"


def test_of_two_receipts_the_further_one_holds_whatever_their_order() -> None:
    for facts in ((receipt(end=20), receipt(end=10)), (receipt(end=10), receipt(end=20))):
        known = books_of(opened(), *facts).of(TopicPartition(ORDERS, 0)).receipt
        assert known is not None
        assert known.source_end == 20


def test_the_last_cutover_of_this_incarnation_holds() -> None:
    first = next(entry for entry in ENTRIES if isinstance(entry, Cut))
    last, other = replace(first, at=20), replace(first, producer_id=ProducerId(2), at=30)
    for facts in ((first, last, other), (other, last, first, last)):
        assert books_of(opened(), *facts).of(TopicPartition(ORDERS, 0)).cut == last
    assert books_of(opened(), other).of(TopicPartition(ORDERS, 0)).cut is None


def test_another_incarnation_begins_anew() -> None:
    gap = Gap(
        link=LINK,
        topic=ORDERS,
        partition=0,
        producer_id=ProducerId(1),
        first=SourceOffset(5),
        end=SourceOffset(7),
        why=RETENTION,
        went_on=True,
        at=8,
    )
    books = books_of(opened(1), receipt(1), gap, opened(2), receipt(1, end=50))
    known = books.of(TopicPartition(ORDERS, 0))
    assert known.opened == opened(2)
    assert known.receipt is None
    assert known.gaps == ()


def test_a_stop_is_over_when_copying_goes_on_without_error() -> None:
    def gaps(*facts: Entry) -> int:
        return len(books_of(*facts).of(TopicPartition(ORDERS, 0)).gaps)

    stop = Gap(
        link=LINK,
        topic=ORDERS,
        partition=0,
        producer_id=ProducerId(1),
        first=SourceOffset(0),
        end=SourceOffset(0),
        why=told("not identical"),
        went_on=False,
        at=5,
    )
    assert gaps(stop) == 1
    assert gaps(opened(), receipt(at=4), stop) == 1
    assert gaps(opened(), stop, receipt(at=6, error="again")) == 1
    assert gaps(opened(), stop, receipt(at=6)) == 0
    lost = replace(stop, end=SourceOffset(3), went_on=True)
    assert gaps(opened(), lost, receipt(at=6)) == 1


def test_all_writers_of_an_incarnation_count() -> None:
    def writer(incarnation: int, number: int) -> TransactionalProducer:
        return TransactionalProducer(
            link=LINK,
            topic=ORDERS,
            partition=0,
            producer_id=ProducerId(incarnation),
            writer=ProducerId(number),
            transactional_id="towpath.l.orders-0",
            why=told("why"),
            target_start=TargetOffset(3),
            at=8,
        )

    known = books_of(opened(1), writer(1, 1004), writer(2, 1005), writer(1, 1006))
    there = known.of(TopicPartition(ORDERS, 0))
    assert there.own == {ProducerId(1)}
    assert there.writers.keys() == {ProducerId(1004), ProducerId(1006)}
    known.take(opened(2))
    assert there.own == {ProducerId(2)}
    assert not there.writers


def test_other_links_do_not_disturb() -> None:
    other = LinkIdentity(LinkName("other"), ClusterId("x"), ClusterId("y"))
    assert books_of(other, ENTRIES[0]).identity == ENTRIES[0]
