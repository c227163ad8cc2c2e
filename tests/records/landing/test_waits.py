"""Something in a queue waits for the world outside; only what lies behind it waits with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from threading import Event
from unittest.mock import Mock

import pytest

from tests.support.copying.copier import copier, endless, going
from tests.support.copying.lanes import StandInReactor, lane, plain, standing, took
from tests.support.kafka import Record, consume, produce, wait_until
from tests.support.ledger.reasons import told
from tests.support.mirror import Mirror
from towpath.cluster.data.buffers import Frame
from towpath.dev.broker import LocalCluster
from towpath.model.errors import ClusterError, NotSetAsideError, RefusedError, UnreachableError
from towpath.model.nouns import Mode, SourceOffset, TargetOffset
from towpath.model.reasons import ReasonCode
from towpath.records.items import Fill, Wait
from towpath.records.jobs import Jobs
from towpath.records.landing.landing import Landing
from towpath.records.landing.waits import Waits
from towpath.records.lane.lane import Lane
from towpath.wire.aborted import Aborted

NewName = Callable[[str], str]
WHY = told("its schema is not registered on the target yet")
HELD = range(1, 11)
"""More partitions than there are threads to ask for them, or in the reactor's pool."""


class Waiting:
    """A lane with a batch before and a batch behind something that it waits for."""

    def __init__(self, end: int | None = None) -> None:
        self.reactor, self.lane = StandInReactor(), lane(end=end)
        self.waits = Waits(Jobs(self.reactor), go=self.go, stop=Lane.stop)  # type: ignore[arg-type]  # a stand-in
        self.sent: list[int] = []
        took(self.lane, plain(0))
        self.lane.queue.put(Wait(WHY, lambda: True))
        took(self.lane, plain(1))
        self.go(self.lane)

    def go(self, lane: Lane) -> None:
        """Do what a copier does with a lane that may move."""
        self.waits.go(lane)
        while batch := lane.next_batch():
            self.sent.append(batch.base)
            lane.landed([TargetOffset(batch.base)])
            self.waits.go(lane)


@pytest.fixture
def waiting() -> Iterator[Waiting]:
    made = Waiting()
    yield made
    made.waits.close()


def test_only_what_lies_behind_it_waits(waiting: Waiting) -> None:
    assert (waiting.sent, len(waiting.reactor.jobs)) == ([0], 1)
    waiting.reactor.finish(False)
    assert (waiting.sent, waiting.lane.progress.trouble) == ([0], None)
    waiting.reactor.ring()
    waiting.reactor.finish(True)
    assert (waiting.sent, waiting.lane.progress.trouble) == ([0, 1], None)
    assert (waiting.reactor.jobs, waiting.reactor.timers) == ([], [])


def test_batches_that_go_again_stay_before_it() -> None:
    sending, wait = lane(), Wait(WHY, lambda: True)
    took(sending, plain(0))
    sending.queue.put(wait)
    took(sending, plain(1))
    assert sending.next_batch() is not None
    assert sending.queue.due_wait is wait
    sending.send_again()
    sending.queue.waited(wait)
    for expected in (0, 1):
        batch = sending.next_batch()
        assert batch is not None
        assert batch.base == expected
        sending.landed([TargetOffset(batch.base)])


def test_a_wait_is_told_once_it_lasts(waiting: Waiting) -> None:
    waiting.reactor.finish(False)
    assert waiting.lane.progress.trouble is None
    wait = waiting.lane.queue.due_wait
    assert wait is not None
    wait.since -= 10
    waiting.reactor.ring()
    waiting.reactor.finish(False)
    assert waiting.lane.progress.trouble == WHY
    waiting.reactor.ring()
    waiting.reactor.finish(True)
    assert (waiting.lane.progress.trouble, waiting.sent) == (None, [0, 1])


def test_an_opening_forgets_what_it_waits_for(waiting: Waiting) -> None:
    waiting.lane.openings += 1
    waiting.lane.resume(standing(1))
    waiting.reactor.finish(True)
    assert (waiting.sent, waiting.lane.pending) == ([0], False)


def test_an_error_that_passes_is_asked_about_again(waiting: Waiting) -> None:
    error = UnreachableError("target", "registering a schema", "the registry is away")
    waiting.reactor.finish(error)
    assert waiting.lane.progress.trouble == error.reason
    waiting.reactor.ring()
    waiting.reactor.finish(True)
    assert waiting.sent == [0, 1]


def test_an_error_that_does_not_pass_stops_its_partition(waiting: Waiting) -> None:
    error = ClusterError("the registry does not take the schema")
    waiting.reactor.finish(error)
    assert (waiting.lane.stopped, waiting.lane.progress.trouble) == (True, error.reason)


def test_a_record_that_cannot_be_set_aside_is_named(waiting: Waiting) -> None:
    large = RefusedError("target", "producing to __towpath_quarantine-0", 10, "MESSAGE_TOO_LARGE")
    waiting.reactor.finish(NotSetAsideError(3, large))
    trouble = waiting.lane.progress.trouble
    assert trouble is not None
    assert (waiting.lane.stopped, trouble.code) == (True, ReasonCode.NOT_SET_ASIDE)
    assert "the record at offset 3" in str(trouble)
    assert "MESSAGE_TOO_LARGE" in str(trouble)


def test_a_run_with_an_end_does_not_wait_for_ever() -> None:
    ends = Waiting(end=2)
    while ends.reactor.jobs:
        ends.reactor.finish(False)
        ends.reactor.ring()
    assert (ends.lane.stopped, ends.lane.progress.trouble) == (True, WHY)
    ends.waits.close()


@pytest.mark.parametrize("before", [0, 1])
def test_it_is_asked_for_where_only_offsets_without_records_lie_before_it(before: int) -> None:
    """No answer of the target comes behind which it would be asked for."""
    waiting = lane()
    waiting.resume(replace(standing(), mode=Mode.MAPPED))
    waiting.level = False
    at = SourceOffset(before)
    for item in [Fill(SourceOffset(0), at)] * before:
        waiting.queue.put(item)
    waiting.queue.put(Wait(WHY, lambda: True))
    reactor, landing = StandInReactor(), Mock()
    landing._waits = Waits(Jobs(reactor), go=Mock(), stop=Mock())  # type: ignore[arg-type]  # a stand-in
    Landing._go_on(landing, waiting)
    assert (len(reactor.jobs), waiting.progress.position.source) == (1, at)
    landing._waits.close()


@pytest.mark.broker
def test_other_partitions_go_on(
    tmp_path: Path,
    source: LocalCluster,
    target: LocalCluster,
    new_name: NewName,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each of ten partitions waits for its schema, and each question blocks; the first does not."""
    registered = Event()
    take = Lane.take

    def wait_first(lane: Lane, frame: Frame, start: int, end: int, aborted: Aborted = ()) -> None:
        held = lane.source.partition in HELD
        if held and end > start and not lane.pending and not lane.expected:
            lane.queue.put(Wait(WHY, lambda: registered.wait(240)))
        take(lane, frame, start, end, aborted)

    monkeypatch.setattr(Lane, "take", wait_first)
    mirror = Mirror(tmp_path, source, target, new_name("waiting"))
    mirror.create(len(HELD) + 1)
    everyone = [0, *HELD]
    for partition in everyone:
        write(source, mirror.topic, partition, 0)
    work = endless(mirror.slices()[0])
    with copier(work, work.source, work.target) as made, going(made):
        for number in range(1, 4):
            write(source, mirror.topic, 0, number)
            goes_on = partial(arrives, target, mirror, [0], number + 1)
            wait_until(goes_on, "the first goes on")
        wait_until(lambda: mirror.books(0).receipt is not None, "receipts are written, too")
        assert arrives(target, mirror, HELD, 0)
        registered.set()
        wait_until(lambda: arrives(target, mirror, HELD, len(HELD)), "the others go on")
    assert all(lane.progress.trouble is None for lane in made.landing.lanes.values())


def write(cluster: LocalCluster, topic: str, partition: int, number: int) -> None:
    produce(cluster.bootstrap, topic, [Record(None, b"%d" % number, partition=partition)])


def arrives(target: LocalCluster, mirror: Mirror, partitions: Sequence[int], count: int) -> bool:
    """Whether the target shows so many records in some partitions."""
    return len(consume(target.bootstrap, mirror.topic, [*partitions])) == count
