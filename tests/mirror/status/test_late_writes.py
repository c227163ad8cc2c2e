"""Status of topics whose clients have moved: late writes that the target refused are no trouble."""

from __future__ import annotations

import pytest

from tests.support.ledger.books import TP, opened, receipt
from towpath.ledger.books import LinkBooks
from towpath.ledger.entries import LinkStage, LinkState
from towpath.mirror.status.partitions import row_of
from towpath.model.nouns import LinkName
from towpath.model.reasons import Reason, ReasonCode

LINK = LinkName("l")
STATE = LinkState(
    link=LINK, topic=TP.topic, state=LinkStage.FAILED_OVER, since=1, user="u", host="h",
    version="1",
)  # fmt: skip


def error(name: str) -> Reason:
    return Reason.of(ReasonCode.ERROR, error=name, text=f"target: producing failed: {name}")


@pytest.mark.parametrize("name", ["INVALID_PRODUCER_EPOCH", "PRODUCER_FENCED"])
def test_a_late_write_that_was_refused_is_told_only_while_the_topic_is_copied(name: str) -> None:
    books = LinkBooks(LINK)
    books.take(opened())
    books.take(receipt(trouble=error(name)))
    row = row_of(TP, TP.topic, books, {TP: 1})
    assert (name in row.error, name in row.codes) == (True, True)
    books.take(STATE)
    row = row_of(TP, TP.topic, books, {TP: 1})
    assert (row.error, row.codes) == ("", ())


def test_other_trouble_of_a_topic_that_moved_is_still_told() -> None:
    books = LinkBooks(LINK)
    for entry in (opened(), receipt(trouble=error("TOPIC_AUTHORIZATION_FAILED")), STATE):
        books.take(entry)
    assert "TOPIC_AUTHORIZATION_FAILED" in row_of(TP, TP.topic, books, {TP: 1}).error
