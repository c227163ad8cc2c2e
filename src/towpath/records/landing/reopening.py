"""Reopening of lanes: their position on the target is determined again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from towpath.model.errors import RefusedError, TowpathError
from towpath.model.nouns import TargetOffset
from towpath.records.jobs import Jobs
from towpath.records.lane.lane import Lane
from towpath.records.source.reader import Feed
from towpath.records.source.reopening import Reopening
from towpath.records.standing import Standing
from towpath.records.target.opening import Opener
from towpath.records.target.producer import Producers
from towpath.records.trouble import hopeless, is_gone

LaneReopening = Reopening[Lane, Standing]
GONE_AFTER = 3
"""Looks for a missing topic after which it is taken as deleted: it may just have been created."""


def lane_reopening(
    jobs: Jobs,
    opener: Opener,
    feed: Feed[Lane],
    producers: Producers[Lane],
    start: Callable[[Lane, TargetOffset | None], None],
) -> LaneReopening:
    """Return a reopener of lanes.

    Args:
        jobs: Runs what blocks, and drops what comes too late.
        opener: Opens partitions on the target.
        feed: Feeds lanes; it leaves out those that are opened again.
        producers: Send the batches of lanes.
        start: Gets each opened lane, and the log end offset from which its log must be filled, if
            any.
    """

    def ask(lanes: Sequence[Lane]) -> Mapping[Lane, Standing | TowpathError]:
        answers = opener.open([lane.work for lane in lanes])
        return {lane: answers[lane.source] for lane in lanes if lane.source in answers}

    def begin(lane: Lane, standing: Standing) -> None:
        lane.resume(standing)
        start(lane, standing.front)

    return LaneReopening(
        jobs,
        feed,
        ask=ask,
        leave=lambda lane: producers.of(lane).remove(lane),
        begin=begin,
        given_up=given_up,
        pool=opener.thread,
    )


def given_up(lane: Lane, error: TowpathError) -> bool:
    """Count an error. Returns whether the lane is given up because of it.

    This is so if the mirror topic no longer exists, or if a right has been missing for too long.
    """
    if isinstance(error, RefusedError) and is_gone(error):
        return lane.again(error.error) >= GONE_AFTER
    return hopeless(error, lane.failures, has_end=lane.has_end)
