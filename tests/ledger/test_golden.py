"""Entries as earlier versions wrote them, byte by byte: every later version reads them.

`golden.tsv` has a line for each: key and value as such a version wrote them. Lines are added to it,
none is changed.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from towpath.ledger import entries
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import Dealt, DefinedChange, ReadEntry, Removed, Unreadable
from towpath.model.nouns import LinkName, Mode, SourceOffset, TopicName, TopicPartition
from towpath.records.work import Beginning, from_data

LINES = [
    tuple(line.encode().split(b"\t"))
    for line in (Path(__file__).parent / "golden.tsv").read_text().splitlines()
]


def value_of(text: bytes) -> bytes | None:
    return None if text == b"null" else text


def decoded(key: bytes, value: bytes) -> ReadEntry:
    entry = entries.decode(key, value_of(value))
    assert entry is not None
    return entry


@pytest.mark.parametrize(("key", "value"), LINES, ids=map(str, range(1, 1 + len(LINES))))
def test_each_field_of_an_old_entry_is_read(key: bytes, value: bytes) -> None:
    entry = decoded(key, value)
    assert not isinstance(entry, Unreadable)
    assert entries.encode(entry)[0] == key  # so that the cleaner lets a newer one replace it
    if isinstance(entry, Removed):
        assert [entry.kind, entry.link, *entry.key] == json.loads(key)
        return
    body: dict[str, Any] = json.loads(value)
    assert body.pop("v") == 1
    known = json.loads(entries.encode(entry)[1] or b"")
    assert _as_then(known, body) == body
    if isinstance(entry, DefinedChange):
        assert entry.change.digest == entry.digest, "the link would open its partitions anew"


def _as_then(known: Any, body: Any) -> Any:
    """Return what was written now without the fields that the older version did not have."""
    if isinstance(body, dict):
        return {name: _as_then(known[name], of) for name, of in body.items()}
    if isinstance(body, list) and len(known) == len(body):
        return [_as_then(*pair) for pair in zip(known, body, strict=True)]
    return known


def books_of(link: str) -> LinkBooks:
    books = LinkBooks(LinkName(link))
    for key, value in LINES:
        if json.loads(key)[1] == link and value != b"null":
            books.take(decoded(key, value))
    return books


def test_old_entries_come_to_the_same_books() -> None:
    books = books_of("gold")
    assert books.identity is not None
    assert books.identity.source_cluster == "P2Cola-kRnSr0_U-4WhHMg"
    assert [entry.do for entry in books.journal.values()] == [
        "CreateTopic", "SetConfigs", "CreateAcl"
    ]  # fmt: skip
    assert books.session is not None
    assert not books.session.rested
    pay = books.of(TopicPartition(TopicName("pay"), 0))
    assert pay.receipt is not None
    assert (pay.receipt.source_end, pay.receipt.records) == (15, 12)
    [decision] = pay.noted_refused.values()
    assert (decision.first, decision.end, decision.policy) == (9, 11, "quarantine")
    assert books.replayers == {4021}
    assert [end.offsets for end in books.ends.values()] == [(30, -1)]
    orders = books.of(TopicPartition(TopicName("orders"), 1))
    assert [gap.first for gap in orders.gaps] == [5]
    assert list(orders.writers) == [4007]
    assert [each.offset for each in orders.repairs] == [22]


def test_old_receipts_of_a_mapped_partition_give_its_offsets() -> None:
    pay = books_of("goldmapped").of(TopicPartition(TopicName("pay"), 0))
    assert pay.opened is not None
    assert pay.opened.mode is Mode.MAPPED
    assert len(pay.standing) == 2
    assert pay.offsets().runs == ((0, 0, 4), (5, 4, 4), (10, 8, 4))


def test_old_assignments_are_read() -> None:
    [dealt] = [each for key, value in LINES if isinstance(each := decoded(key, value), Dealt)]
    [part] = from_data(dealt.partitions)
    assert (part.source.topic, part.target.topic, part.fill) == ("pay", "eu.pay", 100)
    assert part.begin == Beginning(SourceOffset(7), exact=True, epoch=3)
    assert part.earlier == {123281684066672001}


def test_changes_are_known_by_their_digests() -> None:
    books = books_of("goldchange")
    pay = books.of(TopicPartition(TopicName("pay"), 0))
    assert [each.digest for each in books.changes.values()] == [*books.changes]
    assert pay.opened is not None
    assert [books.changes[pay.opened.change].headers[0].name] == ["env"]
    assert books.change_of(pay).drop[0].name == "tmp"
    assert pay.changed == ((15, 16, pay.change),)


def test_old_states_of_a_link_hold() -> None:
    books = books_of("goldstate")
    assert books.identity is not None
    assert books.identity.level == 6
    whole, pay = books.state_of(), books.states[TopicName("pay")]
    assert whole is not None
    assert (whole.state, whole.waits_for, whole.attempt) == ("sealed", "fences", 1)
    assert (pay.state, pay.forward, pay.lost, pay.again) == ("failed_over", True, 12, 3)
