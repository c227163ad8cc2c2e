"""Compaction, pruning and forgetting where the source's log was cut: all histories stay right."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest

from tests.support.archive.archives import CLUSTER
from tests.support.archive.compacting import compacted, objects
from tests.support.archive.forgetting import forgotten
from tests.support.archive.segments import seen
from tests.support.archive.stored import REGION, StoredArchive, old_records
from towpath.archive.format.either_format import read_object
from towpath.archive.format.wanted import Wanted
from towpath.archive.log import Archive
from towpath.archive.model import PartitionId
from towpath.archive.upkeep.pruning import PruneWishes, prune
from towpath.model.nouns import SegmentFormat, TopicId
from towpath.wire.plain import Record

pytestmark = pytest.mark.soak
TOPIC = "orders"
FIRST = PartitionId(CLUSTER, TopicId(f"id-{TOPIC}"), 0)
FORKS = (45, 70, 30)
"""Where the log was cut, each time after 100 offsets were archived."""
END = 100


@pytest.fixture(params=list(SegmentFormat))
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> StoredArchive:
    return StoredArchive(tmp_path, "shop", "127.0.0.1:1", {"grace": "0s"}, kind=request.param)


def fill(stored: StoredArchive) -> list[list[Record]]:
    """Archive four histories; return what the source had as of each."""
    histories = [list(old_records(END))]
    stored.put(TOPIC, histories[0], cuts=range(10, END, 10))
    for number, fork in enumerate(FORKS, 1):
        name = stored.fork(TOPIC, fork, number)
        new = old_records(END - fork, fork, days=40 - number)
        stored.put(TOPIC, new, cuts=range(fork + 7, END, 7), number=name)
        histories.append([*histories[-1][:fork], *new])
    return histories


def present(stored: StoredArchive, history: int) -> list[tuple[int, bytes | None, int]]:
    """Return offsets, keys and times of what the source had as of a history."""
    log, store = stored.log, stored.store
    archive = Archive(log, log.state, history)
    found = []
    for segment, first, end in archive.pieces(FIRST.of_history(history)):
        if segment.place is not None:
            key = segment.place.key
            file = read_object(segment.format, store.reader(key), key)
            rows = file.rows(file.segment(segment.place.first_row_group), Wanted(first, end))
            found += [(e.record.offset, e.record.key, e.record.timestamp) for e in seen(rows)]
            file.close()
    return found


def assert_right(
    stored: StoredArchive,
    histories: list[list[Record]],
    key: bytes | None = None,
    begins: tuple[int, ...] = (0, 0, 0, 0),
) -> None:
    for number, (records, begin) in enumerate(zip(histories, begins, strict=True)):
        left = [each for each in records if each.key != key and each.offset >= begin]
        told = [(each.offset, each.key, each.timestamp) for each in left]
        assert present(stored, number) == told, number
    assert objects(stored.store, REGION) == {
        each.place.key for each in stored.log.state.table() if each.place
    }


def test_compaction_changes_no_history(stored: StoredArchive) -> None:
    histories = fill(stored)
    before = len(stored.log.state.table())
    assert not compacted(stored.config()).failed
    assert len(stored.log.state.table()) < before // 4
    assert_right(stored, histories)


@pytest.mark.parametrize("compacts", [False, True])
def test_a_key_is_forgotten_in_all_histories(
    stored: StoredArchive, rng: random.Random, compacts: bool
) -> None:
    """Also where only a history has it that the source lost."""
    histories = fill(stored)
    if compacts:
        compacted(stored.config())
    key = b"key %d" % rng.randrange(END)
    done = forgotten(stored.config(), key)
    offset = int(key.split()[1])
    assert done.erased == 1 + sum(fork <= offset for fork in FORKS)
    assert_right(stored, histories, key)


def test_what_was_pruned_of_a_history_is_gone_for_those_behind_it(stored: StoredArchive) -> None:
    histories = fill(stored)
    version = 1  # of the first history alone
    prune(stored.config(), PruneWishes(version=version), threading.Event())
    assert_right(stored, histories, begins=(END, 45, 45, 30))
    compacted(stored.config())
    assert_right(stored, histories, begins=(END, 45, 45, 30))
