"""A source log that was cut below what was copied is told before a run reads there."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.clusters.brokers import SharedCluster
from tests.support.clusters.losses import WIPED, lose
from tests.support.kafka import Record, consume, create_topic, end_offsets, produce, wait_until
from tests.support.ledger.books import TP, opened, receipt
from tests.support.ledger.standings import ROW
from tests.support.links import link
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.cluster.admin.offsets import EpochEnd
from towpath.ledger.books import LinkBooks, PartitionBooks
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.mirror.status.source_cuts import cut_logs, findings, with_cuts
from towpath.mirror.status.whole_link import looking
from towpath.model.errors import UnreachableError
from towpath.model.findings import Note, Problem
from towpath.model.nouns import LinkName, Side, SourceOffset, TopicId, TopicName, TopicPartition
from towpath.settings import ClusterConfig

EPOCH, END = 3, 60
COPIED = replace(
    ROW, topic=TP.topic, state=State.CAUGHT_UP, source_end=END, source_log_end=35, lag_records=0
)


def books(epoch: int = EPOCH) -> PartitionBooks:
    opening = opened()
    copied = receipt(source_end=SourceOffset(END), source_epoch=epoch)
    return PartitionBooks(opening, {(opening.producer_id, ""): copied})


def leader(answer: EpochEnd | None, topic_id: str = "s") -> Any:
    def epoch_answers(epochs: Any, patience: float | None = None) -> Any:
        del patience
        if answer is None:
            raise UnreachableError(Side.SOURCE, "looking", "nobody answers")
        return dict.fromkeys(epochs, answer)

    def describe(topics: Any) -> Any:
        return {name: SimpleNamespace(id=TopicId(topic_id)) for name in topics}

    return SimpleNamespace(
        offsets=SimpleNamespace(epoch_answers=epoch_answers),
        topics=SimpleNamespace(describe=describe),
    )


@pytest.mark.parametrize(
    ("answer", "at"),
    [
        (EpochEnd(EPOCH, 30), 30),  # another leader went on from there
        (EpochEnd(-1, 30), 30),  # old brokers do not tell the epoch
        (EpochEnd(EPOCH - 1, 30), 30),
        (EpochEnd(EPOCH - 1, 90), END - 1),  # its log is longer, and has never had the last record
        (EpochEnd(EPOCH, 0), 0),
        (EpochEnd(EPOCH, END), None),
        (EpochEnd(EPOCH, 90), None),
        (EpochEnd(-1, -1), None),
        (None, None),
    ],
)
def test_a_log_was_cut_where_the_epoch_of_what_was_copied_ends(
    answer: EpochEnd | None, at: int | None
) -> None:
    assert cut_logs(leader(answer), {TP: books()}).get(TP) == at


def test_nothing_is_asked_of_what_has_no_epoch() -> None:
    assert cut_logs(leader(EpochEnd(-1, 0)), {TP: books(-1)}) == {}
    assert cut_logs(leader(EpochEnd(-1, 0)), {TP: PartitionBooks(opened())}) == {}


def told(row: PartitionStatus, on_gap: str = "stop", topic_id: str = "s") -> PartitionStatus:
    known = LinkBooks(LinkName("l"))
    known.partitions[TP] = books()
    config = link("a:1", "b:1", ".*", records={"on_gap": on_gap})
    [found] = with_cuts([row], config, known, leader(EpochEnd(EPOCH, 30), topic_id))
    return found


def test_a_run_that_will_stop_there_is_told() -> None:
    row = told(COPIED)
    assert (row.state, row.left_out) == (State.STOPPED, True)
    assert row.why.startswith("t-0: offsets 30 to 59 were not copied: the source log was cut to")
    assert {"GAP", "SOURCE_CUT"} <= {*row.codes}
    [gap] = row.gaps
    assert (gap.first, gap.end, gap.went_on) == (30, END, False)


def test_what_is_written_again_behind_it_is_still_to_copy() -> None:
    row = told(COPIED, "record")
    assert (row.state, row.error, row.lag_records) == (State.BEHIND, "", 5)
    assert (row.left_out, row.gaps[0].went_on) == (True, True)
    assert told(replace(COPIED, source_log_end=30), "record").state is State.CAUGHT_UP


def test_a_plan_tells_of_it_as_a_problem_where_a_run_stops() -> None:
    for on_gap, kind in (("stop", Problem), ("record", Note)):
        config = link("a:1", "b:1", ".*", records={"on_gap": on_gap})
        [found] = findings([COPIED], [told(COPIED, on_gap)], config)
        assert isinstance(found, kind)
        assert str(found).startswith("t: partition 0: the source log was cut to offset 30")
    row = told(COPIED, "record")
    config = link("a:1", "b:1", ".*", records={"on_gap": "stop"})
    assert list(findings([row], [row], config)) == [], "a run has gone on behind it"
    stopped = told(COPIED)
    assert len(list(findings([stopped], [stopped], config))) == 1, "a run has stopped there"


@pytest.mark.parametrize(
    "row",
    [
        replace(COPIED, state=State.STOPPED, error="something else"),
        replace(COPIED, state=State.FAILED_OVER),
        replace(COPIED, state=State.NO_LEADER),
    ],
)
def test_what_has_a_reason_of_its_own_keeps_it(row: PartitionStatus) -> None:
    assert told(row) == row


def test_a_topic_that_was_made_again_was_not_cut() -> None:
    assert told(COPIED, "record", topic_id="another") == COPIED


@pytest.mark.broker
def test_a_leader_tells_where_its_log_was_cut(
    target: SharedCluster, new_name: Callable[[str], str]
) -> None:
    tp = TopicPartition(TopicName(new_name("cut")), 0)
    create_topic(target.bootstrap, tp.topic, 1)
    produce(target.bootstrap, tp.topic, [Record(b"k", b"v")] * 10)
    opening = opened(tp)
    access = ClusterConfig.model_validate({"bootstrap": target.bootstrap})
    with Admin(access, Side.SOURCE) as admin:
        for end, at in ((10, None), (30, 10)):
            copied = receipt(tp, source_end=SourceOffset(end), source_epoch=0)
            known = PartitionBooks(opening, {(opening.producer_id, ""): copied})
            assert cut_logs(admin, {tp: known}).get(tp) == at


@pytest.mark.broker
@pytest.mark.soak
@pytest.mark.alone("source")
@pytest.mark.timeout(400)
@pytest.mark.parametrize("written", [0, 5, 30, 60])
def test_a_source_that_lost_records_stays_told_by_status_and_runs(
    tmp_path: Path,
    source: SharedCluster,
    target: SharedCluster,
    new_name: Callable[[str], str],
    written: int,
) -> None:
    """Also where the log is as long again, or shorter: then a run has nothing new to fetch."""
    mirror = Mirror(tmp_path, source, target, new_name("lost"))
    mirror.create()
    produce(source.bootstrap, mirror.topic, [Record(b"k", b"v")] * 30)
    mirror.catch_up()
    lose(source, {f"{mirror.topic}-0": WIPED})
    wait_until(lambda: end_offsets(source.bootstrap, mirror.topic) == (0, 0), "all is lost")
    new = [Record(b"k", b"new %d" % n) for n in range(written)]
    produce(source.bootstrap, mirror.topic, new)
    topics = re.compile(mirror.topic)
    for _ in range(3):
        with looking(mirror.config) as look:
            [row] = look.once(topics).rows
        assert (row.state, "SOURCE_CUT" in row.codes) == (State.STOPPED, True)
        [done] = mirror.catch_up()
        assert done.trouble is not None
        assert "SOURCE_CUT" in done.trouble.codes
    going_on = replace(mirror, records={"on_gap": "record"})
    [done] = going_on.catch_up()
    assert (done.trouble, done.records) == (None, written)
    assert [each.value for each in consume(target.bootstrap, mirror.topic)[30:]] == [
        each.value for each in new
    ]
