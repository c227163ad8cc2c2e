"""Which records in quarantine are meant, and which count."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.support.copying.quarantine import too_large
from tests.support.ledger.books import TP, opened
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import RefusedRecords
from towpath.ledger.quarantine.format import QuarantineKey, ReplayMark
from towpath.ledger.quarantine.reader import InQuarantine
from towpath.mirror.quarantine.quarantined import (
    CountedRecords,
    QuarantineLook,
    RecordFilter,
    RecordId,
    known_records,
)
from towpath.model.changes import Undeliverable
from towpath.model.errors import ConfigError
from towpath.model.nouns import LinkName, ProducerId, SourceOffset, TopicName, TopicPartition
from towpath.model.reasons import Reason, ReasonCode

LINK = LinkName("l")


def held(offset: int, producer: int = 1) -> InQuarantine:
    key = QuarantineKey(LINK, TP.topic, TP.partition, SourceOffset(offset), ProducerId(producer))
    return InQuarantine(key=key, why=too_large(TP.topic, offset), at=offset, size=1)


def replayed(one: InQuarantine) -> InQuarantine:
    return replace(one, replay=ReplayMark(key=one.key, target=TP, user="u", host="h", at=9))


def books(*refused: int) -> LinkBooks:
    made = LinkBooks(LINK)
    made.take(opened())
    for offset in refused:
        made.take(
            RefusedRecords(
                link=LINK, topic=TP.topic, partition=TP.partition, producer_id=ProducerId(1),
                first=SourceOffset(offset), end=SourceOffset(offset + 1),
                why=too_large(TP.topic, offset), policy=Undeliverable.QUARANTINE, generation=0,
                name=str(offset), at=1,
            )
        )  # fmt: skip
    return made


def test_records_of_an_earlier_incarnation_are_outdated() -> None:
    found = known_records([held(1, producer=7), held(1), held(2, producer=7)], books(1))
    assert [(each.key.offset, each.outdated, each.is_open) for each in found] == [
        (1, True, False), (1, False, True), (2, True, False)
    ]  # fmt: skip


def test_what_was_copied_after_all_is_outdated() -> None:
    """Its copier was killed before it could decide, and the target's limit was raised then."""
    bad = replace(held(5), why=Reason.of(ReasonCode.RECORD_BAD, offset=5, bad="ID_ZERO"))
    found = known_records([held(3), held(4), bad], books(4))
    assert [(each.key.offset, each.is_open) for each in found] == [(3, False), (4, True), (5, True)]


def test_counts_by_topic_and_reason() -> None:
    records = known_records([replayed(held(1)), held(2), held(3, producer=7)], books(1, 2))
    seen = QuarantineLook(
        link=LINK, topic=True, records=records, skipped={(TopicName("s"), "X"): 4}
    )
    assert seen.counts == [
        CountedRecords(topic=TopicName("s"), reason="X", skipped=4),
        CountedRecords(
            topic=TP.topic, reason="RECORD_TOO_LARGE", quarantined=3, replayed=1, outdated=1
        ),
    ]


@pytest.mark.parametrize(
    ("wanted", "offsets"),
    [
        (RecordFilter(), [1, 2]),
        (RecordFilter(is_open=True), [2]),
        (RecordFilter(is_open=False), [1]),
        (RecordFilter(ids=frozenset({RecordId(TP, SourceOffset(2))})), [2]),
        (RecordFilter(topics=frozenset({TopicName("other")})), []),
        (RecordFilter(reasons=frozenset({"RECORD_TOO_LARGE"})), [1, 2]),
        (RecordFilter(reasons=frozenset({"OTHER"})), []),
    ],
)
def test_what_a_filter_means(wanted: RecordFilter, offsets: list[int]) -> None:
    found = filter(wanted.takes, [replayed(held(1)), held(2)])
    assert [each.key.offset for each in found] == offsets


def test_the_id_of_a_record_is_read_as_it_is_shown() -> None:
    meant = RecordId(TopicPartition(TopicName("a-b.c-1"), 3), SourceOffset(4711))
    assert RecordId.of("a-b.c-1-3@4711") == meant
    assert str(meant) == "a-b.c-1-3@4711"
    for text in ("orders", "orders-1", "orders@1", "orders-1@-1", "orders-1@x", "-1@1"):
        with pytest.raises(ConfigError, match="is no record"):
            RecordId.of(text)
