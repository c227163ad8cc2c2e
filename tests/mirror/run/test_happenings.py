"""What a run tells of its partitions. Pure: the events are those that wait to be written."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from tests.support.ledger.reasons import RETENTION
from tests.support.ledger.standings import ROW
from towpath.cluster.admin import Admin
from towpath.ledger.entries import Gap
from towpath.ledger.event_log import EventLog
from towpath.ledger.events import What
from towpath.mirror.run.happenings import Partitions, recording_run
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.model.errors import LedgerError
from towpath.model.nouns import LinkName, ProducerId, Side, SourceOffset
from towpath.settings import ClusterConfig

GAP = Gap(
    link=LinkName("l"),
    topic=ROW.topic,
    partition=ROW.partition,
    producer_id=ProducerId(7),
    first=SourceOffset(3),
    end=SourceOffset(5),
    why=RETENTION,
    went_on=True,
    at=0,
)


class Kept(EventLog):
    """Keeps what it is told."""

    def __init__(self) -> None:
        config = ClusterConfig(bootstrap=("127.0.0.1:9",))
        super().__init__(config, Admin(config, Side.TARGET), LinkName("l"))
        self.told: list[tuple[str, str, dict[str, Any]]] = []

    def tell(self, what: What, about: str = "", **facts: Any) -> None:
        self.told.append((what, about, facts))


def told(*looks: Iterable[PartitionStatus]) -> list[tuple[str, str, dict[str, Any]]]:
    kept = Kept()
    partitions = Partitions(kept)
    for rows in looks:
        partitions.look(rows)
    return kept.told


def test_lag_and_elections_are_no_changes() -> None:
    caught_up = replace(ROW, state=State.CAUGHT_UP)
    away = replace(ROW, state=State.NO_LEADER, error="away")
    assert told([ROW], [caught_up], [away], [caught_up], [away], [ROW]) == []


def test_a_stop_its_reason_and_its_end() -> None:
    stopped = replace(ROW, state=State.STOPPED, error="too large", codes=("TOO_LARGE",))
    facts = {"mode": "identical", "producer_id": 7}
    assert told([ROW], [stopped], [stopped], [ROW]) == [
        (
            "partition.state", "orders-0",
            {
                **facts, "before": "copied", "state": "stopped", "why": "too large",
                "codes": ["TOO_LARGE"],
            },
        ),
        (
            "partition.state", "orders-0",
            {**facts, "before": "stopped", "state": "copied", "why": "", "codes": []},
        ),
    ]  # fmt: skip


def test_what_stands_still_when_a_run_begins_is_told() -> None:
    stopped = replace(ROW, partition=1, state=State.STOPPED, error="too large")
    [(what, about, facts)] = told([ROW, stopped], [ROW, stopped])
    assert (what, about, facts["before"]) == ("partition.state", "orders-1", "")


def test_a_new_partition_and_a_gap() -> None:
    other = replace(ROW, partition=1)
    gap = replace(other, gaps=(GAP,))
    assert [(what, about) for what, about, _ in told([ROW], [ROW, other], [ROW, gap], [gap])] == [
        ("partition.state", "orders-1"), ("partition.gap", "orders-1"),
    ]  # fmt: skip


def test_the_end_of_a_run_tells_what_ended_it() -> None:
    kept = Kept()
    with pytest.raises(LedgerError), recording_run(kept, "r", until_caught_up=True):
        raise LedgerError("it is damaged")
    assert [(what, facts.get("error")) for what, _, facts in kept.told] == [
        ("run.started", None), ("run.ended", "LEDGER"),
    ]  # fmt: skip
