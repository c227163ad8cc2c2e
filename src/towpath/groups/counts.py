"""Counts of the syncs of groups."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from towpath.metering.detail import LIMIT


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupCounts:
    """Counts of syncs for one group, or for several groups together.

    Attributes:
        translated: Positions that were translated to be written.
        translation_errors: Positions of mirrored topics that could not be translated.
        translation_ns: Time that its translations took.
        committed: Positions that were written and read back.
        commit_errors: Positions that were refused, or whose answer was lost.
        commit_ns: Time that its writes took, reading back included.
        syncs: How often it was looked at.
        writes: How often something was written.
    """

    translated: int = 0
    translation_errors: int = 0
    translation_ns: int = 0
    committed: int = 0
    commit_errors: int = 0
    commit_ns: int = 0
    syncs: int = 0
    writes: int = 0

    def __add__(self, other: GroupCounts) -> GroupCounts:
        """Add up."""
        names = type(self).__slots__
        return replace(self, **{n: getattr(self, n) + getattr(other, n) for n in names})


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupsReading:
    """All counts about groups at one moment.

    Attributes:
        since: When the last good sync ended, or the run began, on the monotonic clock.
        outcomes: Positions by outcome, as of the last sync.
        counts: Counts by group; under "" those of all groups where there are too many.
    """

    since: float
    outcomes: Mapping[str, int] = field(default_factory=dict)
    counts: Mapping[str, GroupCounts] = field(default_factory=dict)

    @property
    def age(self) -> float:
        """Seconds since the last good sync, or since the run began."""
        return max(0.0, time.monotonic() - self.since)


def counted_in(
    before: Mapping[str, GroupCounts], counts: Mapping[str, GroupCounts]
) -> dict[str, GroupCounts]:
    """Add counts by group; beyond the limit of series all groups share one count."""
    added = dict(before)
    for name, each in counts.items():
        key = "" if "" in added else name
        added[key] = added.get(key, GroupCounts()) + each
    return {"": _sum(added.values())} if len(added) > LIMIT else added


def _sum(counts: Iterable[GroupCounts]) -> GroupCounts:
    total = GroupCounts()
    for each in counts:
        total += each
    return total
