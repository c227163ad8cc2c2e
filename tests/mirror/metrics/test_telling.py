"""What a run tells its meter. Pure, but for a port of this machine."""

from __future__ import annotations

import threading
from dataclasses import replace

from tests.support.ledger.reasons import RETENTION
from tests.support.ledger.standings import ROW
from tests.support.links import link
from tests.support.pages.scrape import Scrape
from towpath import __version__
from towpath.dev import ports
from towpath.ledger.entries import Gap
from towpath.mirror.metrics.feeding import stands, telling
from towpath.mirror.status.partition_status import State
from towpath.model.findings import Cause
from towpath.model.nouns import Detail, LinkName, ProducerId, SourceOffset
from towpath.settings import MetricsConfig

CONFIG = link("127.0.0.1:9", "127.0.0.1:19", "orders")


def gap(first: int, end: int) -> Gap:
    return Gap(
        link=LinkName("l"),
        topic=ROW.topic,
        partition=ROW.partition,
        producer_id=ProducerId(7),
        first=SourceOffset(first),
        end=SourceOffset(end),
        why=RETENTION,
        went_on=True,
        at=0,
    )


def test_what_is_not_known_is_none() -> None:
    known, unknown = stands([ROW, replace(ROW, lag_records=-1, lag_seconds=-1.0)])
    assert (known.lag_records, known.lag_seconds) == (5, 1.0)
    assert (unknown.lag_records, unknown.lag_seconds) == (None, None)
    assert replace(unknown, lag_records=5, lag_seconds=1.0) == known


def test_gaps_and_modes_of_partitions_are_counted() -> None:
    [stand] = stands([replace(ROW, gaps=(gap(3, 5), gap(10, 20)), mode="mapped")])
    assert (stand.gaps, stand.gap_offsets, stand.mapped) == (2, 12, True)
    [stand] = stands([ROW])
    assert (stand.gaps, stand.gap_offsets, stand.mapped) == (0, 0, False)


def test_what_changes_did_is_sorted() -> None:
    tally = (
        ("bad_ids:ID_NONE", 1), ("dropped:a:b", 2), ("dropped:old", 3), ("headers", 4), ("ids", 5),
        ("quarantined:ID_CUT", 6), ("redacted", 7), ("refused", 8),
        ("unchanged_ids:SCHEMA_ID_LEFT_OUT", 9),
    )  # fmt: skip
    [stand] = stands([replace(ROW, tally=tally)])
    assert stand.dropped == {"a:b": 2, "old": 3}
    assert stand.rewritten == {"headers": 4, "ids": 5, "redacted": 7}
    assert stand.unchanged == {"ID_NONE": 1, "SCHEMA_ID_LEFT_OUT": 9}


def test_it_is_served_only_where_the_file_asks_for_that() -> None:
    before = {*threading.enumerate()}
    with telling(CONFIG) as meter:
        meter.looked(stands([ROW]))
        assert {*threading.enumerate()} == before
    address = f"127.0.0.1:{ports.reserve(1)[0]}"
    metrics = MetricsConfig(listen=address, detail=Detail.LINK)
    with telling(CONFIG.model_copy(update={"metrics": metrics})) as meter:
        meter.looked(stands([ROW]))
        got = Scrape(address)
    assert got.get("towpath_info", version=__version__, link=CONFIG.link) == 1
    assert got.get("towpath_detail_info", detail="link") == 1
    states = {(str(state),): float(state is State.BEHIND) for state in State}
    assert got.of("towpath_partitions") == states
    causes = {*map(str, Cause), "step"}
    assert got.of("towpath_left_out") == {(cause,): 0 for cause in causes}
    assert {*threading.enumerate()} == before
