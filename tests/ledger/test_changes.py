"""Which change the ledger names for a partition, whoever raced for it."""

from __future__ import annotations

import pytest

from tests.support.ledger.books import TP, opened, receipt
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import DefinedChange, ReadEntry
from towpath.model.changes import NO_CHANGE, AddedHeader, RecordChange
from towpath.model.errors import LedgerError
from towpath.model.nouns import LinkName, Mode, TopicName, TopicPartition

LINK = LinkName("l")
ENV = RecordChange(headers=(AddedHeader(name="env", text="prod"),))


def books(*entries: ReadEntry) -> LinkBooks:
    made = LinkBooks(LINK)
    for entry in entries:
        made.take(entry)
    return made


def test_the_opening_names_the_change_until_a_receipt_does() -> None:
    assert books().of(TP).change == ""
    assert books(opened(change="old")).of(TP).change == "old"
    known = books(opened(change="old"), receipt(change="new", changed=((5, 5, "new"),)))
    assert known.of(TP).change == "new"
    assert known.of(TP).changed == ((5, 5, "new"),)


def test_of_claims_for_a_generation_the_first_names_its_change() -> None:
    """The second one was written later, by who lost; else its time would make it the furthest."""
    first = receipt(generation=2, copier="a", claim=True, change="a", mode=Mode.MAPPED)
    second = receipt(generation=2, copier="b", claim=True, change="b", mode=Mode.MAPPED, at=9)
    earlier = receipt(generation=1, copier="c", change="c", records=5, at=20)
    assert books(opened(), first, second, earlier).of(TP).change == "a"
    assert books(opened(), second, first, earlier).of(TP).change == "b"


def test_a_receipt_of_whoever_writes_under_a_generation_names_its_change() -> None:
    """The claim that came first may be gone by then: the cleaner has removed it."""
    lost = receipt(generation=2, copier="b", claim=True, change="b", at=9)
    own = receipt(generation=2, copier="c", change="a", at=4)
    assert books(opened(), lost, own).of(TP).change == "a"


def test_a_late_receipt_under_the_old_change_takes_nothing_back() -> None:
    new = receipt(copier="b", change="new", changed=((5, 5, "new"),), records=5, source_end=5)
    late = receipt(copier="a", change="old", records=5, source_end=7, at=50)
    known = books(opened(change="old"), new, late).of(TP)
    assert (known.change, known.receipt) == ("new", new)


def test_a_slice_reads_what_changes_of_others_are() -> None:
    entry = DefinedChange(link=LINK, digest=ENV.digest, change=ENV)
    known = books(entry, opened(change=ENV.digest))
    assert known.change_of(known.of(TP)) == ENV
    assert known.change_of(known.of(TopicPartition(TopicName("other"), 0))) == NO_CHANGE


def test_a_change_without_a_definition_stops_its_partition() -> None:
    known = books(opened(change="0123456789abcdef"))
    with pytest.raises(LedgerError, match="no definition of change 0123456789abcdef"):
        known.change_of(known.of(TP))


def test_a_definition_of_a_newer_version_is_not_taken_for_what_is_known_of_it() -> None:
    known = books(
        DefinedChange(link=LINK, digest="0123456789abcdef", change=ENV),
        opened(change="0123456789abcdef"),
    )
    with pytest.raises(LedgerError, match="newer version"):
        known.change_of(known.of(TP))
