"""What one thread has read of the ledger is given to another, which reads on from there."""

from __future__ import annotations

from dataclasses import replace

from tests.support.ledger.books import TP, opened, receipt
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import ReadEntry
from towpath.model.nouns import LinkName, ProducerId, TopicName, TopicPartition

OTHER = TopicPartition(TopicName("u"), 0)
NEIGHBOUR = replace(opened(), link=LinkName("n"), producer_id=ProducerId(1 << 50))


def test_books_that_were_copied_stay_as_they_are() -> None:
    books, whole = LinkBooks(LinkName("l")), LinkBooks(LinkName("l"))
    before: list[ReadEntry] = [opened(), receipt(source_end=5, records=5), NEIGHBOUR]
    for entry in before:
        books.take(entry)
        whole.take(entry)
    made = books.copy()
    later: list[ReadEntry] = [
        receipt(source_end=9, records=9),
        opened(OTHER, producer_id=ProducerId(2)),
        replace(NEIGHBOUR, target_topic=OTHER.topic, producer_id=ProducerId(1 << 51)),
    ]
    for entry in later:
        books.take(entry)
    assert made == whole
    assert made != books
    for entry in later:
        made.take(entry)
    assert made == books
    assert made.of(TP).receipt == later[0]
