"""What the source deleted before it was copied is told before a run meets it. Pure."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.ledger.standings import ROW
from tests.support.links import link
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.mirror.status.totals import ordered
from towpath.mirror.status.unread import findings, with_unread
from towpath.model.errors import UnreachableError
from towpath.model.findings import Note, Problem
from towpath.model.nouns import Mode, Side, TopicName, TopicPartition

BEHIND = replace(
    ROW, state=State.BEHIND, mode=str(Mode.IDENTICAL), source_end=10, target_log_end=10,
    lag_records=10, error="", gaps=(),
)  # fmt: skip


def source(firsts: dict[TopicPartition, int] | None) -> Any:
    def earliest(tps: Any, patience: float | None = None) -> dict[TopicPartition, int]:
        del patience
        if firsts is None:
            raise UnreachableError(Side.SOURCE, "looking", "nobody answers")
        return {tp: at for tp, at in firsts.items() if tp in tps}

    return SimpleNamespace(offsets=SimpleNamespace(earliest=earliest))


def looked(first: int, row: PartitionStatus = BEHIND) -> PartitionStatus:
    [found] = with_unread([row], source({row.tp: first}))
    return found


def test_what_is_gone_before_it_was_copied_is_told() -> None:
    found = looked(15)
    assert (found.unread, found.left_out, found.codes[-1]) == (5, True, "GAP")
    assert found.why == (
        f"{BEHIND.tp}: offsets 10 to 19 not yet copied, of which the source has deleted 10 to 14"
    )
    other = replace(BEHIND, topic=TopicName("a"), lag_records=99)
    assert ordered([other, found])[0] == found


def test_what_is_gone_is_told_of_mapped_partitions_whose_log_ends_as_the_ledger_says() -> None:
    mapped = replace(BEHIND, mode=str(Mode.MAPPED), target_end=4, target_log_end=4)
    assert looked(15, mapped).unread == 5


@pytest.mark.parametrize(
    ("first", "row"),
    [
        (10, BEHIND),
        (15, replace(BEHIND, target_log_end=15)),  # the ledger tells of it in a moment
        (15, replace(BEHIND, target_log_end=-1)),
        (15, replace(BEHIND, mode=str(Mode.MAPPED), target_end=4)),  # more was written since
        (15, replace(BEHIND, topic=TopicName("app-x-repartition"))),
        (15, replace(BEHIND, state=State.STOPPED)),
        (15, replace(BEHIND, state=State.CAUGHT_UP)),
    ],
)
def test_nothing_is_told_that_is_not_sure(first: int, row: PartitionStatus) -> None:
    assert looked(first, row) == row
    assert with_unread([row], source(None)) == (row,)


def test_a_plan_has_a_problem_where_a_run_will_stop() -> None:
    names = ("orders", "logs")
    rows = [
        replace(BEHIND, topic=TopicName(name), partition=n, unread_end=15)
        for name in names
        for n in (0, 1)
    ]
    config = link("a:1", "b:1", ".*", records={"on_gap": {"topics": {"logs": "record"}}})
    problem, logs = findings([*rows, BEHIND], config)
    assert isinstance(problem, Problem)
    assert str(problem) == (
        "orders: the source has deleted offsets 10 to 14 of partition 0 before they were copied,"
        " and of 1 other partition some: a run stops there, unless all groups had read them;"
        " `records.on_gap: record` goes on behind them"
    )
    assert isinstance(logs, Note)
