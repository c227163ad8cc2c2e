"""A restore slice whose store is away: it waits, tells why, and ends when its round does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields, replace
from pathlib import Path

import pytest

from tests.support.archive.archived import Archived
from tests.support.archive.restoring import Restoring, seen
from tests.support.archive.stored import StoredArchive, old_records
from tests.support.kafka import consume, wait_until
from towpath.archive.model import PartitionId
from towpath.archive.read.feed.restore_slice import restore
from towpath.archive.read.feed.restore_work import ArchivedRange, RestoreSlice
from towpath.dev.broker import LocalCluster
from towpath.model.nouns import SourceOffset, TopicId
from towpath.records.work import Slice
from towpath.settings import Duration

pytestmark = pytest.mark.broker
NewName = Callable[[str], str]
COUNT = 30
AWAY = "no usable answer in time"


class Sliced:
    """A slice of an archive of one partition, whose folder can be moved away."""

    def __init__(self, folder: Path, target: LocalCluster, topic: str) -> None:
        self.records = old_records(COUNT)
        self.archive = StoredArchive(folder, topic, target.bootstrap)
        self.archive.put(topic, self.records)
        self.restoring = Restoring(target, topic, {0: Archived(self.records, COUNT)})
        self.there = folder / f"{topic}-store"
        self.away = folder / "away"

    def work(self, **more: object) -> RestoreSlice:
        made = self.restoring.work()
        (tp,) = (each.source for each in made.assignments)
        store = self.archive.config().store.model_copy(update={"timeout": Duration(1.0)})
        pid = PartitionId(self.archive.cluster, TopicId(f"id-{tp.topic}"), 0)
        ranges = {tp: ArchivedRange(partition=pid, start=SourceOffset(0), end=SourceOffset(COUNT))}
        told = {each.name: getattr(made, each.name) for each in fields(Slice)}
        work = RestoreSlice(**told, store=store, region=self.archive.region, ranges=ranges)
        return replace(work, receipts=0.1, **more)  # type: ignore[arg-type]

    def trouble(self) -> str:
        receipt = self.restoring.books().receipt
        return "" if receipt is None else str(receipt.trouble)


@pytest.fixture
def sliced(tmp_path: Path, target: LocalCluster, new_name: NewName) -> Sliced:
    return Sliced(tmp_path, target, new_name("sliced"))


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as made:
        yield made


def test_a_slice_that_begins_while_the_store_is_away_goes_on_once_it_is_back(
    sliced: Sliced, target: LocalCluster, threads: ThreadPoolExecutor
) -> None:
    sliced.there.rename(sliced.away)
    running = threads.submit(lambda: list(restore(sliced.work())))

    def is_told() -> bool:
        assert not running.done(), running.result()
        return AWAY in sliced.trouble()

    wait_until(is_told, "the ledger tells that the store is away")
    sliced.away.rename(sliced.there)
    back = time.monotonic()
    [done] = running.result(30)
    assert time.monotonic() - back < 15
    assert (done.error, done.source_end) == ("", COUNT)
    assert consume(target.bootstrap, sliced.restoring.topic) == seen(sliced.records)


def test_a_slice_whose_store_stays_away_ends_with_its_round(sliced: Sliced) -> None:
    sliced.there.rename(sliced.away)
    begun = time.monotonic()
    [done] = list(restore(sliced.work(seconds=4.0)))
    assert time.monotonic() - begun < 20
    assert done.source_end <= 0
    assert AWAY in done.error


def test_a_slice_of_an_archive_that_is_not_there_says_so(sliced: Sliced) -> None:
    [done] = list(restore(replace(sliced.work(), region="us")))
    assert "us" in done.error
