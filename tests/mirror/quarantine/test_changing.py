"""Records in quarantine are changed as the file says when they are replayed."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from tests.support.links import link
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import LinkIdentity
from towpath.ledger.quarantine.format import QuarantinedRecord, QuarantineKey
from towpath.mirror.quarantine.changing import PresentChange, UnchangedError
from towpath.model.nouns import ClusterId, LinkName, ProducerId, SourceOffset, TopicName
from towpath.model.reasons import Reason, ReasonCode
from towpath.settings import LinkConfig
from towpath.wire import plain
from towpath.wire.ids import IdTable

LINK, TOPIC = LinkName("test"), TopicName("orders")
OWN = plain.Record(b"k", b"v", ((b"h", b"1"),), 1_600_000_000_000, 4711)
RECORD = QuarantinedRecord(
    key=QuarantineKey(LINK, TOPIC, 3, SourceOffset(4711), ProducerId(1)),
    why=Reason.of(ReasonCode.TOLD, text="large"),
    at=5,
    record=OWN,
)


GLUE = UUID("5e9a5b1e-58c2-4a53-9c75-6b9d1f1d7a10")


def present(*changes: dict[str, Any], ids: IdTable | None = None) -> PresentChange:
    plain_link = link("source:1", "target:1", "orders")
    config = LinkConfig.model_validate(
        {**plain_link.model_dump(mode="json", exclude_none=True), "changes": list(changes)}
    )
    books = LinkBooks(LINK)
    books.take(LinkIdentity(LINK, ClusterId("from"), ClusterId("to")))
    return PresentChange(config, books, lambda *_: ids or IdTable.of())


def test_a_topic_without_changes_gets_its_records_as_they_are() -> None:
    assert present().apply(RECORD) == OWN
    assert present({"topics": ["other"], "redact": ["h"]}).apply(RECORD) == OWN


def test_a_record_is_changed_as_in_its_partition() -> None:
    change = present(
        {
            "topics": ["orders"],
            "redact": ["h"],
            "headers": [
                {"name": name, "of": name}
                for name in ("topic", "partition", "offset", "timestamp", "cluster")
            ],
        }
    )
    assert change.apply(RECORD) == plain.Record(
        b"k",
        b"v",
        (
            (b"h", b"REDACTED"),
            (b"topic", b"orders"),
            (b"partition", b"3"),
            (b"offset", b"4711"),
            (b"timestamp", b"1600000000000"),
            (b"cluster", b"from"),
        ),
        OWN.timestamp,
        OWN.offset,
    )


def test_a_record_that_was_changed_before_is_not_changed_again() -> None:
    changed = QuarantinedRecord(
        key=RECORD.key, why=RECORD.why, at=5, record=OWN, change="0123456789abcdef"
    )
    assert present({"topics": ["orders"], "redact": ["h"]}).apply(changed) == OWN


def test_a_record_that_is_dropped_now_stays() -> None:
    change = present({"topics": ["orders"], "drop": [{"key": {"equals": ["k"]}}]})
    with pytest.raises(UnchangedError, match=r"a rule of `changes\.drop`"):
        change.apply(RECORD)


def test_schema_ids_become_what_the_ledger_has_decided() -> None:
    to_glue = {"topics": ["orders"], "ids": {"framing": "to-glue", "glue": {str(GLUE): 7}}}
    own = plain.Record(None, b"\0\0\0\0\7payload", (), 5, 4711)
    record = QuarantinedRecord(key=RECORD.key, why=RECORD.why, at=5, record=own)
    made = present(to_glue, ids=IdTable.of(value={7: GLUE})).apply(record)
    assert made.value == b"\3\0" + GLUE.bytes + b"payload"
    with pytest.raises(UnchangedError, match="not known what becomes of schema id 7"):
        present(to_glue).apply(record)


def test_a_bad_schema_id_stays() -> None:
    change = present({"topics": ["orders"], "ids": {"framing": "to-glue", "malformed": "stop",
        "glue": {str(GLUE): 7}}})  # fmt: skip
    own = plain.Record(None, b"\0\0\0\0", (), 5, 4711)
    with pytest.raises(UnchangedError, match="ID_"):
        change.apply(QuarantinedRecord(key=RECORD.key, why=RECORD.why, at=5, record=own))
