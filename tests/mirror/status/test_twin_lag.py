"""Lag leaves out what the twin is known to have written at the source. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.support.ledger.books import opened, receipt
from tests.support.ledger.standings import ROW
from tests.support.links import link
from towpath.ledger.books import LinkBooks
from towpath.ledger.packed import Packer
from towpath.mirror.status.partition_status import State
from towpath.mirror.status.twin_lag import TwinLag
from towpath.model.errors import UnreachableError
from towpath.model.nouns import LinkName, Side, SourceOffset, TargetOffset
from towpath.settings import LinkConfig

BACK = LinkName("back")
SOURCE: Any = None
BEHIND = replace(
    ROW, state=State.BEHIND, source_end=10, source_log_end=30, lag_records=20, error="", gaps=(),
    target_topic=ROW.topic,
)  # fmt: skip


def config(twin: str | None = "back") -> LinkConfig:
    made = link("a:1", "b:2", str(ROW.topic))
    topics = made.topics.model_copy(update={"twin": twin and LinkName(twin)})
    return made.model_copy(update={"topics": topics})


class Known(TwinLag):
    """Its books are given; the source is not asked."""

    def _read(self, source: Any) -> LinkBooks:
        if source is not None:
            raise source
        found = LinkBooks(BACK)
        found.take(opened(ROW.tp, link=BACK))
        # What it wrote: offsets 5 to 11, 14 to 17 and 25 to 29 of the source.
        runs = [(SourceOffset(0), TargetOffset(5), 7), (SourceOffset(9), TargetOffset(14), 4)]
        last = SourceOffset(20), TargetOffset(25), 5
        found.take(receipt(ROW.tp, link=BACK, packed=Packer(runs).text(), run=last))
        return found


def test_what_lies_behind_the_position_counts() -> None:
    [row] = Known(config()).without([BEHIND], SOURCE)
    assert (row.lag_records, row.state) == (20 - 2 - 4 - 5, State.BEHIND)


def test_a_partition_with_nothing_else_has_caught_up() -> None:
    there = replace(BEHIND, source_end=25, lag_records=5)
    [row] = Known(config()).without([there], SOURCE)
    assert (row.lag_records, row.lag_seconds, row.state) == (0, 0.0, State.CAUGHT_UP)


@pytest.mark.parametrize(
    ("twin", "source"),
    [(None, None), ("back", UnreachableError(Side.SOURCE, "reading", "nobody answers"))],
)
def test_without_a_twin_or_its_ledger_the_lag_stays(twin: str | None, source: Any) -> None:
    assert Known(config(twin)).without([BEHIND], source) == (BEHIND,)
