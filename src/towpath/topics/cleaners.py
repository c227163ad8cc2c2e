"""Observation of clusters whose brokers run no log cleaner."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from towpath.cluster.admin import Admin
from towpath.model.cleaner import STOPS, stops_in_all, stops_in_any
from towpath.model.errors import ClusterError, RefusedError
from towpath.model.nouns import Side
from towpath.topics.configs import compacts


@dataclass(frozen=True, slots=True)
class CleanerSeen:
    """Whether a cluster runs the log cleaner.

    Attributes:
        stops: The broker configs by which it does not, empty if it does.
        error: Why that is not known, `None` if it is.
    """

    stops: Mapping[str, str] = field(default_factory=dict)
    error: ClusterError | None = None

    @property
    def unknown(self) -> str:
        """Why it is not known whether the cleaner runs, "" if it is known."""
        return f"it is not known whether a cleaner runs ({self.error})" if self.error else ""


RUNS = CleanerSeen()


def look_at_cleaner(admin: Admin, side: Side, topics: Iterable[Mapping[str, str]]) -> CleanerSeen:
    """Return whether a cluster runs the log cleaner, asked only where topics are compacted.

    A source keeps records where one of its brokers cleans nothing; a target removes none only where
    none of them cleans.

    Args:
        admin: The cluster.
        side: Which one it is.
        topics: The configs in effect on its topics.

    Raises:
        UnreachableError: No broker answered.
    """
    if not any(map(compacts, topics)):
        return RUNS
    try:
        told = admin.cluster.each_broker(tuple(STOPS))
    except RefusedError as error:
        return CleanerSeen(error=error)
    return CleanerSeen((stops_in_any if side is Side.SOURCE else stops_in_all)(told))
