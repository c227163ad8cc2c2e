"""Names and values of the metrics of archives and restores."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from http.client import HTTPConnection

import pytest

from tests.support.pages.scrape import Scrape
from towpath.archive.metrics import restore_names
from towpath.archive.metrics import run_names as archive_names
from towpath.archive.metrics.run_measure import AboutArchive, measured
from towpath.archive.metrics.run_meter import ArchiveCounts, ArchiveMeter, ArchiveStand
from towpath.archive.model import PartitionId
from towpath.archive.restore.log_watch import Heard, HeardState
from towpath.archive.restore.metered import Show, telling_restore
from towpath.archive.restore.model import RestorePart, SegmentMarks
from towpath.archive.restore.progress import RestoreProgress, RestoreRow
from towpath.archive.restore.task import RestoreTask
from towpath.archive.restore.waking import Notified
from towpath.archive.write.progress import ArchiveRowState
from towpath.dev import ports
from towpath.ledger.entries import Gap
from towpath.metering.detail import LIMIT
from towpath.metering.server import MetricsServer
from towpath.model.errors import ConfigError, StoreAwayError
from towpath.model.nouns import (
    ClusterId,
    Detail,
    LinkName,
    ProducerId,
    SourceOffset,
    TopicId,
    TopicName,
    TopicPartition,
)
from towpath.model.reasons import Reason, ReasonCode
from towpath.runtime.clock import now_ms
from towpath.settings import MetricsConfig, StoreConfig

ARCHIVE = [
    ("egress_messages_consumed_total", "counter", ("region", "topic", "partition")),
    ("egress_messages_written_total", "counter", ("region", "topic", "partition")),
    ("egress_messages_rewinded_total", "counter", ("region", "topic", "partition")),
    ("egress_segments_written_total", "counter", ("region", "topic", "partition")),
    ("egress_segments_rewinded_total", "counter", ("region", "topic", "partition")),
    ("kafka_consumer_errors_total", "counter", ()),
    ("s3_client_errors_total", "counter", ()),
    ("towpath_archive_info", "gauge", ("version", "archive", "region")),
    ("towpath_archived_to", "gauge", ("topic", "partition")),
    ("towpath_archive_stable_end", "gauge", ("topic", "partition")),
    ("towpath_archive_lag_offsets", "gauge", ("topic", "partition")),
    ("towpath_archive_lag_bytes", "gauge", ("topic", "partition")),
    ("towpath_archive_rpo_seconds", "gauge", ("topic", "partition")),
    ("towpath_archive_gap_offsets", "gauge", ("topic", "partition", "kind")),
    ("towpath_archive_source_cuts", "gauge", ("topic", "partition")),
    ("towpath_archive_partitions", "gauge", ("state",)),
    ("towpath_archive_version", "gauge", ()),
    ("towpath_archive_last_commit_timestamp_seconds", "gauge", ()),
    ("towpath_archive_cycles_total", "counter", ()),
    ("towpath_archive_cycles_failed_total", "counter", ("reason",)),
    ("towpath_archive_errors_total", "counter", ("reason",)),
    ("towpath_archive_throttled_seconds_total", "counter", ()),
    ("towpath_archive_trouble", "gauge", ()),
    ("compaction_running", "gauge", ()),
    ("compaction_success_total", "counter", ()),
    ("compaction_skipped_total", "counter", ()),
    ("compaction_stopped_total", "counter", ()),
    ("compaction_errors_total", "counter", ()),
    ("towpath_compaction_failed", "gauge", ()),
    ("compaction_duration_seconds_total", "counter", ()),
    ("compaction_segments_read_total", "counter", ()),
    ("compaction_segments_written_total", "counter", ()),
    ("towpath_compaction_bytes_total", "counter", ()),
    ("towpath_archive_deleted_objects_total", "counter", ()),
    ("s3_parquet_errors_total", "counter", ()),
    ("towpath_archive_orphans", "gauge", ()),
]
RESTORE = [
    ("ingress_messages_produced_total", "counter", ("region", "source", "topic", "partition")),
    ("ingress_messages_lost", "gauge", ("region", "source", "topic", "partition")),
    ("ingress_segments_lost", "gauge", ("region", "source", "topic", "partition")),
    ("ingress_segments_late", "gauge", ("region", "source", "topic", "partition")),
    ("ingress_segments_read_total", "counter", ("region", "source", "topic", "partition")),
    ("ingress_segments_waiting", "gauge", ("region", "source", "topic", "partition")),
    ("ingress_lag_seconds", "gauge", ("region", "source", "topic", "partition")),
    ("ingress_checkpoint", "gauge", ("region", "source", "topic", "partition")),
    ("towpath_restore_info", "gauge", ("version", "restore")),
    ("towpath_restored_to", "gauge", ("region", "source", "topic", "partition")),
    ("towpath_restore_lag_offsets", "gauge", ("region", "source", "topic", "partition")),
    ("towpath_restore_lost_offsets", "gauge", ("region", "source", "topic", "partition")),
    ("towpath_restore_partitions", "gauge", ("state",)),
    ("towpath_restore_bytes", "gauge", ()),
    ("towpath_restored_bytes", "gauge", ()),
    ("towpath_restore_rate_bytes_per_second", "gauge", ()),
    ("towpath_restore_eta_seconds", "gauge", ()),
    ("towpath_restore_left_out", "gauge", ()),
    ("towpath_restore_trouble", "gauge", ()),
    ("kafka_producer_errors_total", "counter", ()),
    ("s3_client_errors_total", "counter", ()),
    ("sqs_messages_received_total", "counter", ()),
    ("sqs_messages_success_total", "counter", ()),
    ("sqs_messages_invalid_total", "counter", ()),
    ("sqs_messages_failed_total", "counter", ()),
    ("sqs_client_errors_total", "counter", ()),
    ("sqs_messages_lag_seconds", "gauge", ()),
]
"""Change an entry only together with a line in the changelog about what breaks."""
STAND = ArchiveStand(
    topic="orders", partition=0, state="waiting", archived_to=90, stable_end=100, lag=10,
    lag_bytes=500.0, exposed=12.5, gaps={"retention": 3, "marker": 2}, records=40, segments=2,
    redundant=5, rewound=1,
)  # fmt: skip
FIRST = {"topic": "orders", "partition": "0"}
ROW = RestoreRow(
    tp=TopicPartition(TopicName("orders"), 0),
    target=TopicName("orders"),
    part=RestorePart(
        id=PartitionId(ClusterId("c"), TopicId("t"), 0),
        start=SourceOffset(0),
        end=SourceOffset(100),
        records=100,
        bytes=1000,
        oldest=None,
        newest=None,
        segments=SegmentMarks([9, 30, 60, 100], [now_ms() - 50_000] * 4),
    ),
    at=SourceOffset(0),
)


def test_names_kinds_and_labels_are_frozen() -> None:
    told = [(m.name, str(m.kind), m.labels) for m in archive_names.ALL]
    assert told == ARCHIVE
    assert [(m.name, str(m.kind), m.labels) for m in restore_names.ALL] == RESTORE


@contextmanager
def served(counts: ArchiveCounts, detail: Detail = Detail.AUTO) -> Iterator[Scrape]:
    (port,) = ports.reserve(1)
    meter = ArchiveMeter()
    meter.tell(counts)
    about = AboutArchive("1.2.3", "shop", "eu", detail, tuple(ArchiveRowState))
    with MetricsServer(("127.0.0.1", port), meter, lambda: measured(meter.read(), about)):
        yield Scrape(f"127.0.0.1:{port}")


def test_everything_that_an_archive_tells_is_served() -> None:
    counts = ArchiveCounts(
        stands=(STAND,),
        version=7,
        committed=1.7e9,
        cycles=3,
        failed={"CLUSTER": 1},
        failures={"CLUSTER_REFUSED": 2, "STORE_AWAY": 4, "CORRUPT_BATCH": 1},
        throttled=1.5,
        trouble=True,
    )
    with served(counts) as got:
        assert got.labels == {m.name: {*m.labels} for m in archive_names.ALL}
        theirs = {"region": "eu", **FIRST}
        assert got.get("egress_messages_consumed_total", **theirs) == 45
        assert got.get("egress_messages_written_total", **theirs) == 40
        assert got.get("egress_messages_rewinded_total", **theirs) == 5
        assert got.get("egress_segments_rewinded_total", **theirs) == 1
        assert got.get("kafka_consumer_errors_total") == 2
        assert got.get("s3_client_errors_total") == 4
        errors = {("CLUSTER_REFUSED",): 2, ("STORE_AWAY",): 4, ("CORRUPT_BATCH",): 1}
        assert got.of("towpath_archive_errors_total") == errors
        assert got.get("towpath_archive_rpo_seconds", **FIRST) == 12.5
        assert got.get("towpath_archive_gap_offsets", kind="retention", **FIRST) == 3
        # A first gap is only seen as one by an alert that compares, if there was 0 before.
        assert got.get("towpath_archive_gap_offsets", kind="lost", **FIRST) == 0
        assert got.get("towpath_archive_gap_offsets", kind="erased", **FIRST) is None
        assert got.get("towpath_archive_partitions", state="waiting") == 1
        assert got.get("towpath_archive_trouble") == 1


def test_large_archives_have_no_more_series() -> None:
    stands = tuple(replace(STAND, partition=number) for number in range(LIMIT + 1))
    with served(ArchiveCounts(stands=stands)) as got:
        assert got.of("towpath_archive_lag_offsets") == {("", "orders"): 10 * (LIMIT + 1)}
        assert got.of("towpath_archive_rpo_seconds") == {("", "orders"): 12.5}
        assert got.of("towpath_archived_to") == {}


@contextmanager
def told(
    detail: Detail = Detail.AUTO, sources: Mapping[str, str] | None = None
) -> Iterator[tuple[Show, str, list[RestoreProgress]]]:
    (port,) = ports.reserve(1)
    address = f"127.0.0.1:{port}"
    shown: list[RestoreProgress] = []
    task = RestoreTask.__new__(RestoreTask)
    for name, value in {
        "name": LinkName("restore.shop"),
        "region": "eu",
        "source": "",
        "store": StoreConfig.model_validate({"url": "file:///tmp/none"}),
        "metrics": MetricsConfig(listen=address, detail=detail),
    }.items():
        object.__setattr__(task, name, value)
    tasks = [task] if not sources else [_source(task, *each) for each in sources.items()]
    with telling_restore("restore.shop", tasks, shown.append) as show:
        yield show, address, shown


def _source(task: RestoreTask, name: str, region: str) -> RestoreTask:
    made = RestoreTask.__new__(RestoreTask)
    told = {"region": region, "source": name, "name": task.name, "metrics": task.metrics}
    for key, value in told.items():
        object.__setattr__(made, key, value)
    return made


def test_sources_are_told_by_region_and_name() -> None:
    """A region may be two sources, of two stores for example."""
    progress = RestoreProgress()
    with told(sources={"old": "us", "new": "us"}) as (show, address, _):
        progress.take([replace(ROW, source="old", at=SourceOffset(10), records=10),
                       replace(ROW, source="new", at=SourceOffset(20), records=20)])  # fmt: skip
        show(progress)
        progress.take([replace(ROW, source="old", at=SourceOffset(10), records=10),
                       replace(ROW, source="new", at=SourceOffset(25), records=25)])  # fmt: skip
        show(progress)
        got = Scrape(address)
    for name, to, records in ("old", 10, 0), ("new", 25, 5):
        theirs = {"region": "us", "source": name, **FIRST}
        assert got.get("towpath_restored_to", **theirs) == to
        assert got.get("ingress_messages_produced_total", **theirs) == records


def test_everything_that_a_restore_tells_is_served() -> None:
    gap = Gap(
        link=LinkName("l"), topic=TopicName("orders"), partition=0, producer_id=ProducerId(7),
        first=SourceOffset(20), end=SourceOffset(29), why=Reason.of(ReasonCode.RETENTION),
        went_on=True, at=0,
    )  # fmt: skip
    progress = RestoreProgress()
    with told() as (show, address, shown):
        show(progress)  # before anything is known
        progress.take([replace(ROW, at=SourceOffset(10), records=10, mode="identical")])
        show(progress)
        late = str(ReasonCode.ARCHIVE_LATE)
        row = replace(ROW, at=SourceOffset(50), records=41, mode="identical", gaps=(gap,),
                      error="it is late", codes=(late,))  # fmt: skip
        progress.take([row])
        progress.left_out, progress.trouble = ("a topic",), "away"
        show(progress)
        got = Scrape(address)
        assert len(shown) == 3
    named = {m.name: {*m.labels} for m in restore_names.ALL}
    assert got.labels == {name: named[name] for name in got.labels}
    theirs = {"region": "eu", "source": "", **FIRST}
    assert got.get("ingress_messages_produced_total", **theirs) == 31, "10 were there before"
    assert got.get("ingress_messages_lost", **theirs) == 9
    assert got.get("ingress_segments_lost", **theirs) == 1
    assert got.get("ingress_segments_late", **theirs) == 1
    assert got.get("ingress_segments_read_total", **theirs) == 1, "one was there before"
    assert got.get("ingress_segments_waiting", **theirs) == 2
    assert 50 <= (got.get("ingress_lag_seconds", **theirs) or 0) < 5000
    assert got.get("ingress_checkpoint", **theirs) == 49
    assert got.get("towpath_restored_to", **theirs) == 50
    assert got.get("towpath_restore_lag_offsets", **theirs) == 50
    assert got.get("towpath_restore_lost_offsets", **theirs) == 9
    assert got.get("towpath_restore_partitions", state="late") == 1
    assert got.get("towpath_restore_bytes") == 1000
    assert got.get("towpath_restored_bytes") == 500
    assert got.get("towpath_restore_left_out") == 1
    assert got.get("towpath_restore_trouble") == 1
    assert got.of("sqs_messages_received_total") == {}


def test_errors_of_the_target_count_each_time_that_they_begin() -> None:
    refused = replace(ROW, error="refused", codes=("CLUSTER_REFUSED",))
    late = replace(ROW, error="late", codes=(str(ReasonCode.ARCHIVE_LATE),))
    progress, found = RestoreProgress(), list[float | None]()
    with told() as (show, address, _):
        for row in ROW, refused, refused, late, refused, ROW:
            progress.take([row])
            show(progress)
            found.append(Scrape(address).get("kafka_producer_errors_total"))
    assert found == [0, 1, 1, 1, 2, 2]


def test_errors_of_the_store_count_each_time_that_they_begin() -> None:
    away = StoreAwayError("s3://bucket", "read", "nothing listens there")
    held = replace(ROW, error="late", codes=(str(ReasonCode.ARCHIVE_LATE), *away.reason.codes))
    broken = Heard(region="eu", state=HeardState.BROKEN, codes=away.reason.codes)
    progress, found = RestoreProgress(following=True), list[float | None]()
    with told() as (show, address, _):
        for row, heard, error in (
            (ROW, (), None), (held, (), None), (held, (broken,), None), (ROW, (broken,), away),
            (ROW, (), away), (ROW, (), None), (held, (), None),
        ):  # fmt: skip
            progress.take([row])
            progress.heard = heard
            progress.take_trouble(*((str(error), error.reason.codes) if error else ()))
            show(progress)
            found.append(Scrape(address).get("s3_client_errors_total"))
    assert found == [0, 1, 2, 3, 3, 3, 4]


def test_an_archive_that_is_not_heard_is_trouble_and_messages_are_counted() -> None:
    progress = RestoreProgress(following=True)
    progress.take([ROW])
    progress.notified = Notified(queue="events", messages=5, poison=2, failed=4, errors=1, lag=1.5)
    found: list[Scrape] = []
    with told() as (show, address, _):
        for state in HeardState:
            progress.heard = (Heard(region="eu", state=state),)
            show(progress)
            found.append(Scrape(address))
    assert [each.get("towpath_restore_trouble") for each in found] == [0, 1, 1]
    kinds = ("received", "success", "invalid", "failed")
    assert [found[-1].get(f"sqs_messages_{kind}_total") for kind in kinds] == [5, 3, 2, 4]
    assert found[-1].get("sqs_client_errors_total") == 1
    assert found[-1].get("sqs_messages_lag_seconds") == 1.5


def test_a_restore_without_rows_so_far_is_alive_and_not_ready(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that follows may wait for long until there is an archive at all."""
    with told() as (show, address, _):
        monkeypatch.setattr("towpath.metering.server.STALLED", 0.5)
        time.sleep(0.6)
        assert status(address, "/live") == 503
        show(RestoreProgress(trouble="there is no archive here"))
        assert (status(address, "/live"), status(address, "/ready")) == (200, 503)
        assert Scrape(address).get("towpath_restore_trouble") == 1
        progress = RestoreProgress()
        progress.take([ROW])
        show(progress)
        assert status(address, "/ready") == 200


def status(address: str, path: str) -> int:
    connection = HTTPConnection(address, timeout=10)
    connection.request("GET", path)
    code = connection.getresponse().status
    connection.close()
    return code


def test_an_address_that_is_taken_is_said() -> None:
    with told() as (_, address, _):
        task = RestoreTask.__new__(RestoreTask)
        object.__setattr__(task, "metrics", MetricsConfig(listen=address))
        object.__setattr__(task, "name", LinkName("other"))
        object.__setattr__(task, "region", "eu")
        object.__setattr__(task, "source", "")
        with (
            pytest.raises(ConfigError, match="the port is taken"),
            telling_restore("other", [task], lambda _: None),
        ):
            pass
