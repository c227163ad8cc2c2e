"""From where on a mirror topic is the clients' own, by what the ledger beside it knows."""

from __future__ import annotations

from dataclasses import replace

from tests.support.ledger.books import TP, opened, receipt
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Cut, Repaired
from towpath.model.nouns import LinkName, ProducerId, SourceOffset, TargetOffset, TopicId
from towpath.topics.observed import Topic
from towpath.topics.ways_back import WayBack, way_back

FIRST, HEIR = ProducerId(1), ProducerId(70)
_CUT = Cut(
    link=LinkName("l"),
    topic=TP.topic,
    partition=TP.partition,
    producer_id=FIRST,
    source_end=SourceOffset(10),
    target_end=TargetOffset(10),
    records=10,
    at=5,
)
_REPAIR = Repaired(
    link=LinkName("l"),
    topic=TP.topic,
    partition=TP.partition,
    producer_id=FIRST,
    successor=HEIR,
    start=SourceOffset(0),
    offset=SourceOffset(7),
    acknowledged=SourceOffset(10),
    run_id="again",
    at=6,
)


def link(end: int = 10, *, cut: bool = True, name: str = "l") -> LinkBooks:
    """Return a link that has copied up to an offset, and was cut over at 10."""
    books = LinkBooks(LinkName(name))
    books.take(opened(link=books.link))
    source, target = SourceOffset(end), TargetOffset(end)
    books.take(receipt(link=books.link, records=end, source_end=source, target_end=target))
    if cut:
        books.take(replace(_CUT, link=books.link))
    return books


def way(*by: LinkBooks, source: str = "s") -> WayBack:
    return way_back(Topic(TP.topic, TopicId("t"), 2, 1), TopicId(source), by)


def test_a_link_back_begins_at_the_cut_and_at_the_start_of_what_nobody_mirrored() -> None:
    found = way(link())
    assert found.is_open
    assert not found.unsure
    assert found.begins == {0: 10, 1: 0}
    assert not way(link(), source="another").is_open


def test_what_was_copied_behind_the_cut_makes_the_border_unsure() -> None:
    assert way(link(13)).unsure.startswith("link l copied 3 records of partition 0 since its cut")


def test_a_partition_that_was_repaired_since_its_cutover_has_no_sure_border() -> None:
    """What the repair copied again may lie behind records of the clients."""
    books = link()
    books.take(_REPAIR)
    books.take(opened(producer_id=HEIR, source_start=SourceOffset(7), run_id="again"))
    source, target = SourceOffset(10), TargetOffset(10)
    books.take(receipt(producer_id=HEIR, records=3, source_end=source, target_end=target))
    found = way(books)
    assert found.is_open
    assert found.unsure.startswith("link l repaired partition 0 since its cutover of ")
    # A cutover behind the repair makes it sure again.
    books.take(replace(_CUT, producer_id=HEIR, records=3, at=7))
    assert not way(books).unsure
    assert way(books).begins[0] == 10


def test_of_several_links_the_furthest_border_counts_and_each_must_be_cut_over() -> None:
    later, uncut = link(15, name="later", cut=False), link(10, name="uncut", cut=False)
    later.take(replace(_CUT, link=later.link, target_end=TargetOffset(15), records=15))
    assert way(link(), later).begins[0] == 15
    assert "link uncut did not cut over partition 0" in way(link(), uncut).unsure
