"""What open transactions at the source hold back is told; one that hangs in its own words. Pure."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.ledger.standings import ROW
from towpath.cluster.metadata import Answers, ListedTransaction, ProducerState
from towpath.mirror.show.status_picture import remarks
from towpath.mirror.status.open_transaction import HANGING, oldest, open_transaction
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.mirror.status.transaction_watch import TransactionWatch, with_open_transactions
from towpath.model.errors import ClusterError, UnreachableError
from towpath.model.nouns import ProducerId, Side, TopicPartition
from towpath.runtime.clock import now_ms

NOW = 1_000_000_000_000
LIMIT = 900_000
HOLDER = ProducerState(ProducerId(7), 3, NOW - 1000, 20)
HELD = replace(ROW, state=State.CAUGHT_UP, lag_records=0, source_log_end=20, unstable=31)
ONGOING = {HOLDER.id: ListedTransaction("app-1", "Ongoing")}


class Source:
    """A source with these producers and transactions; `None` where it does not tell."""

    def __init__(
        self,
        states: tuple[ProducerState, ...] | None,
        listed: dict[ProducerId, ListedTransaction] | None,
    ) -> None:
        self.told, self.listed, self.asked = states, listed, 0
        self.producers = self
        self.cluster = SimpleNamespace(each_broker=self.each_broker)

    def states(
        self, tps: Any, *, patience: float | None = None
    ) -> Answers[TopicPartition, tuple[ProducerState, ...]]:
        del patience
        self.asked += 1
        if self.told is None:
            raise UnreachableError(Side.SOURCE, "asking", "nobody answers")
        return Answers(dict.fromkeys(tps, self.told), {})

    def listed_transactions(self) -> dict[ProducerId, ListedTransaction]:
        if self.listed is None:
            raise ClusterError("source: it does not know the question")
        return self.listed

    def each_broker(self, names: Any) -> tuple[dict[str, str], ...]:
        return ({name: str(LIMIT) for name in names}, {})


def told(source: Source, row: PartitionStatus = HELD) -> PartitionStatus:
    [found] = with_open_transactions([row], source)  # type: ignore[arg-type]
    return found


def test_who_holds_what_back_is_told() -> None:
    other = replace(HOLDER, id=ProducerId(8), open_since=33)
    old = replace(HOLDER, last_timestamp=now_ms() - 1000)
    found = told(Source((other, old), ONGOING))
    assert found.open is not None
    assert (found.open.first, found.open.offsets, found.open.producer_id) == (20, 31, 7)
    assert (found.codes, found.open.hangs) == ((), False)
    [remark] = remarks(found)
    assert remark.startswith(f"{HELD.tp}: offsets 20 to 50 are behind an open transaction of ")
    assert "producer 7 (last record of 20" in remark
    assert remark.endswith(
        "consumers with isolation.level=read_committed do not see them, and they are copied once"
        " it ends"
    )
    assert oldest([found.open]) == (
        "the open transaction with the oldest last record is that of transactional id app-1"
        " (producer 7)"
    )


@pytest.mark.parametrize("source", [Source(None, None), Source((), ONGOING)])
def test_what_is_held_back_is_told_also_where_nobody_knows_by_whom(source: Source) -> None:
    found = told(source)
    assert found.open is not None
    assert (found.open.first, found.open.offsets, found.open.producer_id) == (20, 31, -1)
    assert "offsets 20 to 50 are behind an open transaction: consumers" in next(
        iter(remarks(found))
    )
    assert oldest([found.open]) == ""


@pytest.mark.parametrize(
    "row",
    [
        replace(HELD, unstable=0),
        replace(HELD, unstable=-1),
        replace(HELD, state=State.FAILED_OVER),
        replace(HELD, state=State.EXCLUDED),
    ],
)
def test_where_nothing_is_held_back_nobody_is_asked(row: PartitionStatus) -> None:
    source = Source((HOLDER,), ONGOING)
    assert (told(source, row), source.asked) == (row, 0)


@pytest.mark.parametrize(
    ("listed", "age", "hangs"),
    [
        ({}, LIMIT + 1, True),
        ({}, LIMIT - 1, False),
        ({HOLDER.id: ListedTransaction("app-1", "CompleteCommit")}, LIMIT + 1, True),
        (ONGOING, LIMIT + 1, False),
        ({HOLDER.id: ListedTransaction("app-1", "PrepareAbort")}, LIMIT + 1, False),
        (None, LIMIT + 1, False),
    ],
)
def test_a_transaction_hangs_that_is_old_and_that_no_coordinator_has(
    listed: dict[ProducerId, ListedTransaction] | None, age: int, *, hangs: bool
) -> None:
    """The time of a record is what its producer set, so it decides nothing alone."""
    holder = replace(HOLDER, last_timestamp=NOW - age)
    assert open_transaction(holder, listed, LIMIT, NOW).hangs is hangs


def test_one_that_hangs_has_its_own_words_which_stay_the_same_while_the_log_grows() -> None:
    source = Source((replace(HOLDER, last_timestamp=NOW),), {})
    found, later = told(source), told(source, replace(HELD, unstable=99))
    assert found.codes == (HANGING,)
    assert list(remarks(found)) == list(remarks(later))
    [remark] = remarks(found)
    assert (
        "the open transaction of producer 7 (last record of 2001-09-09T01:46:40Z) at offset 20"
        " seems to hang"
    ) in remark
    assert "older than the 15m 00s that transaction.max.timeout.ms allows" in remark
    assert f"abort --topic {ROW.topic} --partition 0 --start-offset 20`" in remark


def test_frequent_callers_ask_once_and_never_name_the_producer_of_an_earlier_transaction() -> None:
    source = Source((HOLDER,), ONGOING)
    watch = TransactionWatch(every=1000)
    rows = [HELD, replace(HELD, unstable=40), replace(HELD, source_log_end=25)]
    found = [watch.told_in([row], source)[0].open for row in rows]  # type: ignore[arg-type]
    assert source.asked == 1
    assert [(each.first, each.offsets, each.producer_id) for each in found if each] == [
        (20, 31, 7), (20, 40, 7), (25, 31, -1)
    ]  # fmt: skip
