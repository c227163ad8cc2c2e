"""Random histories of several writers: never a hole, never a duplicate, never another record."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.archive.archives import (
    COMPACTOR,
    WRITER,
    archiving,
    partition_id,
    record_digest,
    segment,
)
from towpath.archive.log import commit_log
from towpath.archive.log.checkpoints import LogCheckpoints
from towpath.archive.log.commit_log import CommitLog, Committed
from towpath.archive.log.entries import Draft, EntryKind
from towpath.archive.log.state import ArchiveState
from towpath.archive.model import Segment
from towpath.model.digest import Digest
from towpath.settings import StoreConfig
from towpath.store import Store

PARTITIONS = 3
WRITERS = 2
CHECKPOINT_EACH = 4
"""So few versions, that checkpoints matter in short histories."""

STEPS = st.one_of(
    st.tuples(
        st.just("archive"),
        st.integers(0, WRITERS - 1),
        st.lists(
            st.tuples(st.integers(0, PARTITIONS - 1), st.lists(st.integers(1, 6), max_size=3)),
            max_size=PARTITIONS,
            unique_by=lambda each: each[0],
        ),
    ),
    st.tuples(
        st.just("compact"),
        st.integers(0, WRITERS - 1),
        st.tuples(st.integers(0, PARTITIONS - 1), st.integers(0, 5), st.integers(1, 4)),
    ),
    st.tuples(
        st.just("prune"),
        st.integers(0, WRITERS - 1),
        st.tuples(st.integers(0, PARTITIONS - 1), st.integers(1, 2)),
    ),
    st.tuples(st.just("follow"), st.integers(0, WRITERS - 1), st.none()),
    st.tuples(st.just("restart"), st.integers(0, WRITERS - 1), st.none()),
)


class History:
    """Writers that plan from what they last read, and what became of their plans."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.logs = [CommitLog.open_or_begin(store, "eu") for _ in range(WRITERS)]
        self.states: dict[int, ArchiveState] = {}
        self.dropped: list[Segment] = []
        self.count = 0

    def step(self, kind: str, writer: int, how: object) -> None:
        log = self.logs[writer]
        if kind == "follow":
            log.follow()
        elif kind == "restart":
            log.settle()
            self.logs[writer] = CommitLog.open_or_begin(self.store, "eu")
        else:
            draft = getattr(self, kind)(log.state, how)
            if draft is not None:
                self.commit(log, draft)

    def commit(self, log: CommitLog, draft: Draft) -> None:
        done: Committed = log.append(draft)
        assert len(done.added) + len(done.dropped) == len(draft.add)
        self.dropped += done.dropped
        if done.version is not None:
            assert done.version not in self.states
            assert done.version == log.state.version
            self.states[done.version] = log.state

    def archive(self, state: ArchiveState, how: list[tuple[int, list[int]]]) -> Draft:
        self.count += 1
        planned: list[Segment] = []
        for partition, lengths in how:
            place = state.partitions.get(partition_id(partition))
            at = place.archived_to if place else 0
            for length in lengths:
                planned.append(segment(at, at + length, partition, tag=f"#{self.count}"))
                at += length
        return archiving(*planned)

    def compact(self, state: ArchiveState, how: tuple[int, int, int]) -> Draft | None:
        partition, first, count = how
        run = state.segments(partition_id(partition))[first : first + count]
        if not run:
            return None
        self.count += 1
        level = max(each.level for each in run) + 1
        made = segment(run[0].start, run[-1].end, partition, level=level, tag=f"#{self.count}")
        removed = tuple(each.id for each in run)
        return Draft(writer=COMPACTOR, kind=EntryKind.COMPACT, remove=removed, add=(made,))

    def prune(self, state: ArchiveState, how: tuple[int, int]) -> Draft | None:
        partition, count = how
        run = state.segments(partition_id(partition))[:count]
        removed = tuple(each.id for each in run)
        draft = Draft(writer=replace(WRITER, work="prune"), kind=EntryKind.PRUNE, remove=removed)
        return draft if run else None


def check(history: History) -> None:
    """Check what a new reader finds, from checkpoints and without."""
    for log in history.logs:
        log.settle()
    found = CommitLog.open_or_begin(history.store, "eu").state
    assert sorted(history.states) == list(range(1, found.version + 1))
    assert as_values(found) == as_values(history.states.get(found.version, ArchiveState()))
    live = {each.place.key for each in found.table() if each.place}
    assert live.isdisjoint(each.place.key for each in history.dropped if each.place)
    for partition in range(PARTITIONS):
        segments = found.segments(partition_id(partition))
        place = found.partitions.get(partition_id(partition))
        if place is None:
            assert segments == []
            continue
        at = place.begin
        for each in segments:
            assert each.start == at
            at = each.end
        assert at == place.archived_to
        digest = reduce(Digest.then, (each.digest for each in segments), Digest())
        assert digest == record_digest(place.begin, place.archived_to)


def check_the_past(history: History) -> None:
    """Check that each version is found again as it was."""
    log = history.logs[0]
    log.follow()
    for version, state in history.states.items():
        assert as_values(log.as_of(version)) == as_values(state)
    history.store.delete(each.key for each in history.store.list("eu/_log/checkpoints/"))
    if history.states:
        assert as_values(CommitLog.open(history.store, "eu").state) == as_values(log.state)


def as_values(state: ArchiveState) -> tuple[object, ...]:
    return (
        state.version, state.time, state.tip, dict(state.partitions), dict(state.writers),
        dict(state.removed), list(state.table()),
    )  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def often() -> Iterator[None]:
    """Let logs make checkpoints often."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(commit_log, "CHECKPOINT_EACH", CHECKPOINT_EACH)
        yield


@given(st.lists(STEPS, max_size=25))
def test_whatever_writers_do_the_archive_tiles(
    steps: list[tuple[str, int, object]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = StoreConfig.model_validate({"url": (Path(folder) / "store").as_uri()})
        with Store(config) as store:
            history = History(store)
            for step in steps:
                history.step(*step)
            check(history)
            check_the_past(history)


def test_checkpoints_are_made_in_these_histories(tmp_path: Path) -> None:
    with Store(StoreConfig.model_validate({"url": (tmp_path / "s").as_uri()})) as store:
        history = History(store)
        for _ in range(2 * CHECKPOINT_EACH):
            history.step("archive", 0, [(0, [1])])
        history.logs[0].settle()
        assert LogCheckpoints(store, "eu").versions()
