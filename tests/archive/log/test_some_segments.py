"""Looking up some segments of a partition: they begin where all of them do, without a hole."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.support.archive.archives import archiving, compacting, partition_id, segment, whole
from towpath.archive.log.entries import Draft, LogEntry
from towpath.archive.log.state import ArchiveState


def behind(state: ArchiveState, draft: Draft) -> ArchiveState:
    entry = LogEntry(
        version=state.version + 1,
        time=1,
        writer=draft.writer,
        kind=draft.kind,
        add=draft.add,
        remove=draft.remove,
    )
    return state.after([(entry, "")])


@pytest.mark.parametrize("first", [0, 15, 35, 95, 119])
@pytest.mark.parametrize("most", [1, 2, 5, 100])
def test_some_segments_are_the_first_of_all(first: int, most: int) -> None:
    base = [segment(n, n + 10) for n in range(0, 100, 10)]
    state = behind(ArchiveState(), archiving(*base)).compacted()
    joined = whole(20, 60)
    state = behind(state, compacting(*base[2:6], into=[joined]))
    state = behind(state, archiving(segment(100, 110), segment(110, 120)))
    everything = state.segments(partition_id(), first)
    some = state.segments(partition_id(), first, most=most)
    assert some == everything[: len(some)]
    assert some or not everything
    assert all(a.end == b.start for a, b in pairwise(some))
