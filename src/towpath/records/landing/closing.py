"""Fencing at the end of a run, so that producer state outlives the run. Blocking.

Producer state expires by the timestamp of the last record, so after old records at once. A marker
has the present time. It also fences batches of our own generation that may still arrive; the next
opening continues with the next generation (docs/decisions/0024).
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from towpath.cluster.admin import Admin
from towpath.ledger.producers import of_generation
from towpath.model.errors import ClusterError
from towpath.model.nouns import Mode, TargetOffset, TopicPartition
from towpath.records.lane.lane import Lane
from towpath.records.target.generations import fence

_PATIENCE = 2.0
"""Seconds for each question to all leaders: a run that ends does not wait for a missing leader."""
Lanes = dict[TopicPartition, Lane]
"""By target partition."""


def leave_remembered(target: Admin, lanes: Iterable[Lane], remembered_from: int) -> None:
    """Fence producer ids whose last record is older than `remembered_from` (ms).

    If a leader does not answer or refuses markers, the next opening reads the log instead.
    """
    old = {lane.work.target: lane for lane in lanes if _ends_old(lane, remembered_from)}
    if old:
        with suppress(ClusterError):
            _close(target, old)


def _ends_old(lane: Lane, remembered_from: int) -> bool:
    time = lane.landed_time
    mapped = lane.progress.mode is Mode.MAPPED and lane.writer is None
    return mapped and time is not None and time < remembered_from


def _close(target: Admin, lanes: Lanes) -> None:
    before = target.offsets.log_ends(lanes, patience=_PATIENCE)
    # In a log that has lost records, a marker would take the offset of a lost record.
    whole = {tp: lane for tp, lane in lanes.items() if before.get(tp, -1) >= _end(lane)}
    free = _with_free_generation(target, whole)
    markers = {tp: [fence(lane.work, _generation(lane))] for tp, lane in free.items()}
    written = target.producers.write_markers(markers, patience=_PATIENCE)
    behind = target.offsets.log_ends(written, patience=_PATIENCE)
    for tp, end in behind.items():
        lane = lanes[tp]
        if before[tp] == _end(lane) == end - 1:  # so only the marker is there
            lane.progress.reach(TargetOffset(end))
            lane.progress.changed = True


def _with_free_generation(target: Admin, lanes: Lanes) -> Lanes:
    """Return the lanes for whose next generation the target has no old producer state."""
    states = target.producers.states(lanes, patience=_PATIENCE)
    known = {tp: {state.id for state in states[tp]} for tp in states}
    return {
        tp: lane
        for tp, lane in lanes.items()
        if tp in known
        and of_generation(lane.work.producer_id, _generation(lane) + 1) not in known[tp]
    }


def _end(lane: Lane) -> int:
    return lane.progress.position.target


def _generation(lane: Lane) -> int:
    return lane.progress.position.generation
