"""Compaction over a real S3 API that refuses a step, or whose answer to it is lost."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.archive.archives import CLUSTER
from tests.support.archive.compacting import EAGER, compacted, held_records, here, objects
from tests.support.archive.stored import REGION, StoredArchive, old_records
from tests.support.kafka import wait_until
from tests.support.objects.buckets import Buckets, StoreFront
from tests.support.objects.stores import section
from towpath.archive.log import CommitLog
from towpath.archive.model import PartitionId
from towpath.archive.upkeep import compacting
from towpath.archive.upkeep.compacting import ScheduledCompaction
from towpath.archive.upkeep.slice.compact_work import CompactResult
from towpath.model.errors import StoppedError, StoreError
from towpath.model.nouns import TopicId

pytestmark = pytest.mark.slow

TOPIC = "orders"
BUSY, OTHER = (PartitionId(CLUSTER, TopicId(f"id-{TOPIC}"), number) for number in range(2))
MERGED = f"/{TOPIC}/0/1/"
"""Part of the key of what the first partition is merged into."""
OWN = {"grace": "0s", "segments": {"share": "0B"}}
"""Each segment has an object of its own, and those that nobody needs go at once."""


@dataclass(frozen=True)
class Step:
    """A request of a compaction.

    Attributes:
        method: Its method.
        part: Part of its path.
        raises: Whether the compaction ends where it is refused; else a partition is left.
        merges: Whether the other partition is merged all the same.
    """

    method: str
    part: str
    raises: bool = False
    merges: bool = True

    def fits(self, method: str, path: str) -> bool:
        """Whether a request is this one."""
        return method == self.method and self.part in path


STEPS = {
    "open": Step("GET", f"/{TOPIC}/0/0/"),
    "create": Step("PUT", MERGED),
    "commit": Step("PUT", "/_log/000", raises=True, merges=False),
    "list": Step("GET", "list-type=2", raises=True, merges=False),
    "delete": Step("POST", "?delete", raises=True),
}


def _some_in_soaks(names: Iterable[str], *always: str) -> Iterator[Any]:
    for each in names:
        yield each if each in always else pytest.param(each, marks=pytest.mark.soak)


class Bucket:
    """An archive of two partitions in a bucket, asked through a front."""

    def __init__(self, folder: Path, buckets: Buckets, front: StoreFront) -> None:
        config = buckets.new()
        self.front = front
        self.direct = self._archive(folder, {"store": section(config, folder)})
        for number in range(2):
            self.direct.put(TOPIC, old_records(40), cuts=(10, 20, 30), partition=number)
        self.before = self.records()
        self.config = self._archive(
            folder, {"store": section(front.before(config), folder, timeout="2s"), **OWN}
        ).config()

    def _archive(self, folder: Path, more: dict[str, Any]) -> StoredArchive:
        return StoredArchive(folder, "shop", "127.0.0.1:1", more)

    def records(self) -> list[Any]:
        """Return all records, each partition's own."""
        store, state = self.direct.store, self.direct.log.state
        return [held_records(store, state, each) for each in (BUSY, OTHER)]

    def counts(self) -> list[int]:
        """Return how many segments each partition has."""
        return [len(self.direct.log.state.segments(each)) for each in (BUSY, OTHER)]

    def named(self) -> set[str]:
        """Return the keys of the objects that segments have."""
        return {each.place.key for each in self.direct.log.state.table() if each.place}


@pytest.fixture
def bucket(tmp_path: Path, buckets: Buckets, front: StoreFront) -> Bucket:
    return Bucket(tmp_path, buckets, front)


@pytest.mark.parametrize("name", [*_some_in_soaks(STEPS, "create", "delete")])
def test_a_step_that_is_refused_deletes_nothing_that_is_needed(bucket: Bucket, name: str) -> None:
    """What it leaves behind is cleaned up by the next compaction."""
    step, there = STEPS[name], objects(bucket.direct.store, REGION)
    bucket.front.change = lambda method, path, _: (
        (403, "AccessDenied") if step.fits(method, path) else None
    )
    if step.raises:
        with pytest.raises(StoreError):
            compacted(bucket.config)
    else:
        done = compacted(bucket.config)
        assert list(done.failed) == [f"{TOPIC}-0"]
        assert "AccessDenied" in done.failed[f"{TOPIC}-0"]
    assert any(step.fits(method, path) for method, path, _ in bucket.front.seen)
    assert bucket.records() == bucket.before
    busy, other = bucket.counts()
    assert busy == (1 if name == "delete" else 4)
    assert other == (1 if step.merges else 4)
    now = objects(bucket.direct.store, REGION)
    assert bucket.named() <= now
    if busy == 4:
        assert {key for key in there if f"/{TOPIC}/0/" in key} <= now
    bucket.front.change = lambda *_: None
    assert not compacted(bucket.config).failed
    assert bucket.counts() == [1, 1]
    assert bucket.records() == bucket.before
    assert objects(bucket.direct.store, REGION) == bucket.named()


@pytest.mark.soak
@pytest.mark.parametrize("name", ["create", "commit", "delete"])
def test_a_step_whose_answer_is_lost_is_done_once(bucket: Bucket, name: str) -> None:
    step, lost = STEPS[name], list[str]()

    def loses(method: str, path: str) -> bool:
        is_first = step.fits(method, path) and not lost
        lost.extend([path] * is_first)
        return is_first

    bucket.front.lost = loses
    assert not compacted(bucket.config).failed
    assert lost
    assert bucket.counts() == [1, 1]
    assert bucket.records() == bucket.before
    assert objects(bucket.direct.store, REGION) == bucket.named()


def test_a_compaction_that_the_end_of_a_run_stops_replaces_nothing(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun = threading.Event()

    def run_on(_spark: Any, stop: threading.Event) -> Any:
        def run(_slices: Sequence[Any], _told: Any) -> list[CompactResult]:
            begun.set()
            stop.wait(60)
            raise StoppedError("cancelled")  # as a job that Spark has cancelled

        return run

    monkeypatch.setattr(compacting, "run_on", run_on)
    rule = {"schedule": "* * * * * *", "min_age": "0s", "min_count": 2}
    config = bucket.config.model_copy(update={"compaction": (EAGER.model_validate(rule),)})
    log = CommitLog.open(bucket.direct.store, REGION)
    made = ScheduledCompaction(config, log, lambda *_: None)

    class Slots:
        number = 4

    slots: Any = Slots()
    made.begin(None, slots)
    wait_until(begun.is_set, "it compacts")
    made.close()
    counts = made.counts
    assert (counts.stopped, counts.success, counts.errors, counts.running) == (1, 0, 0, False)
    assert bucket.counts() == [4, 4]
    assert bucket.records() == bucket.before


@pytest.mark.parametrize(("asked", "slots", "wanted"), [(None, 4, 2), (1, 4, 1), (4, 1, 1)])
def test_so_many_partitions_are_compacted_at_a_time(
    tmp_path: Path, asked: int | None, slots: int, wanted: int
) -> None:
    archive = StoredArchive(tmp_path, "shop", "127.0.0.1:1", OWN)
    for number in range(2):
        archive.put(TOPIC, old_records(40), cuts=(10, 20, 30), partition=number)
    sizes: list[int] = []

    def run(slices: Sequence[Any], told: Any) -> list[CompactResult]:
        sizes.append(len(slices))
        return here(slices, told)

    rule = EAGER.model_copy(update={"parallelism": asked})
    assert not compacted(archive.config(), rule, run=run, slots=slots).failed
    assert max(sizes) == wanted
