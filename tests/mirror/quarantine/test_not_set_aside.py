"""Records that the quarantine topic does not take stop their partition, and nothing else."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest

from tests.support.copying.quarantine import begin, held
from tests.support.here import Here
from tests.support.kafka import Record, consume, create_topic, produce, set_config
from tests.support.mirror import Mirror
from towpath.cluster.admin import Admin
from towpath.dev.broker import LocalCluster
from towpath.ledger.quarantine import writer
from towpath.model.nouns import QUARANTINE, Side
from towpath.model.reasons import Reason, ReasonCode
from towpath.records.work import Summary

# The topic is one for all links, and here it takes less than usual.
pytestmark = [pytest.mark.broker, pytest.mark.soak, pytest.mark.alone("target")]
NewName = Callable[[str], str]
LIMIT = 20_000
"""Bytes that the mirror topic takes."""
ROOM = 10_000
"""Bytes that the quarantine topic takes."""


@pytest.fixture
def mirror(tmp_path: Path, source: LocalCluster, target: LocalCluster, new_name: NewName) -> Mirror:
    made = Mirror(tmp_path, source, target, new_name("no-room"))
    create_topic(source.bootstrap, made.topic, 2)
    create_topic(target.bootstrap, made.topic, 2, {"max.message.bytes": str(LIMIT)})
    made.sections = (
        f"changes:\n- topics: ['{made.topic}']\n  undeliverable: quarantine\n"
        "  ids: {framing: to-glue, key: none, malformed: quarantine,"
        f" glue: {{{UUID(int=1)}: 7}}}}\n"
    )
    return made


@pytest.fixture(autouse=True)
def narrow(mirror: Mirror) -> Iterator[Callable[[int], None]]:
    """Return what sets how large a batch in the quarantine topic may be."""
    with Admin(mirror.config.target, Side.TARGET) as admin:
        writer.prepare(admin)

    def take(size: int) -> None:
        set_config(mirror.target.bootstrap, QUARANTINE, "max.message.bytes", str(size))

    take(ROOM)
    yield take
    take(100 << 20)


def noise(size: int) -> bytes:
    return random.Random(7).randbytes(size)


def write(mirror: Mirror, bad: Record) -> None:
    """Write ten records to each partition; the fourth of partition 0 is bad."""
    for number in range(10):
        good = [Record(b"k", b"%d" % number, partition=p) for p in (0, 1)]
        some = [bad, good[1]] if number == 3 else good
        for each in some:
            produce(mirror.source.bootstrap, mirror.topic, [each])


def assert_stopped_alone(mirror: Mirror) -> Summary:
    """Partition 0 stopped before its fourth record, and partition 1 is copied."""
    first, second = sorted(mirror.catch_up(), key=lambda done: done.tp)
    assert (first.source_end, second.source_end, second.error) == (3, 10, "")
    ends = [len(consume(mirror.target.bootstrap, mirror.topic, [p])) for p in (0, 1)]
    assert ends == [3, 10]
    return first


@pytest.mark.parametrize(
    "bad",
    [
        Record(b"k", noise(LIMIT + 1), partition=0),
        Record(b"k", b"\0\0\0\0\0" + noise(ROOM + 1), partition=0),
    ],
    ids=["the target refuses it", "its schema id is 0"],
)
def test_a_record_that_is_too_large_for_the_quarantine_stops_its_partition_alone(
    mirror: Mirror, narrow: Callable[[int], None], here: Here, bad: Record
) -> None:
    write(mirror, bad)
    begin(mirror)
    stopped = assert_stopped_alone(mirror)
    assert "it failed to set aside the record at offset 3, which cannot be delivered: " in (
        stopped.error
    )
    assert f"{QUARANTINE}" in stopped.error
    assert "MESSAGE_TOO_LARGE" in stopped.error
    trouble = mirror.books().receipt
    assert trouble is not None
    assert trouble.trouble is not None
    assert isinstance(trouble.trouble, Reason)
    assert trouble.trouble.code is ReasonCode.NOT_SET_ASIDE
    status = here("status", str(mirror.folder / f"{mirror.topic}.yaml"))
    assert "`towpath explain NOT_SET_ASIDE`" in " ".join(status.out.split()), status.out
    assert held(mirror) == ()

    narrow(100 << 20)
    assert [each.error for each in mirror.catch_up()] == ["", ""]
    assert [each.key.offset for each in held(mirror)] == [3]
    assert len(consume(mirror.target.bootstrap, mirror.topic, [0])) == 9


def test_small_records_fit_one_by_one_where_they_do_not_together(mirror: Mirror) -> None:
    bad = [Record(b"k", b"\0\0\0\0\0" + noise(2_000), partition=0) for _ in range(20)]
    produce(mirror.source.bootstrap, mirror.topic, [*bad, Record(b"k", b"good", partition=0)])
    begin(mirror)
    assert [each.value for each in consume(mirror.target.bootstrap, mirror.topic, [0])] == [b"good"]
    assert [each.key.offset for each in held(mirror)] == list(range(20))


def test_of_several_records_the_one_that_does_not_fit_is_named(mirror: Mirror) -> None:
    bad = [Record(b"k", b"\0\0\0\0\0" + noise(2_000), partition=0) for _ in range(9)]
    bad[5] = Record(b"k", b"\0\0\0\0\0" + noise(ROOM + 1), partition=0)
    produce(mirror.source.bootstrap, mirror.topic, bad)
    begin(mirror)
    [stopped] = [each for each in mirror.catch_up() if each.error]
    assert "the record at offset 5" in stopped.error
