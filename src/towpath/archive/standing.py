"""How far each partition is archived, and since when more of it waits. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from towpath.archive.look import PartitionEnds
from towpath.archive.sums import PartitionSums
from towpath.model.backoff import BackOff
from towpath.model.nouns import SourceOffset, TopicName
from towpath.model.reasons import Reason, ReasonCode
from towpath.segments.egress.plan import PartitionView, Span
from towpath.segments.model import PartitionId, Segment

AGAIN = BackOff(first=1.0, longest=60.0, jitter=0.1)
"""Pauses before a partition in trouble is tried again."""
_NEW = 0.5
"""Weight of the latest segment in the density of a partition."""


@dataclass(slots=True, eq=False)
class PartitionStanding:
    """What a run knows of a partition.

    Attributes:
        id: Its identity.
        topic: The name of its topic.
        archived_to: The offset up to which it is archived.
        ends: Where its log begins and ends, as of the last look that told.
        since: When its oldest offset that is not archived may have come, by the monotonic clock;
            `None` if all is archived.
        overdue: Nobody knows for how long it waits, so it is archived at once.
        density: Bytes for each offset so far, `None` if nothing is known.
        ahead: Segments that are written and not committed, by their start.
        busy: A task archives it.
        failures: How often in a row it could not be archived.
        again: When it is tried again, by the monotonic clock.
        trouble: What keeps it from being archived, `None` if nothing does.
        gone: Its topic is no more at the source, or is another one now.
        run: What this run has archived of it.
        gaps: Offsets without a record in all of its archive, by kind.
        redundant: Records that this run has read in vain, as another writer was faster; `rewound`,
            the segments that it has written of them.
    """

    id: PartitionId
    topic: TopicName
    archived_to: SourceOffset
    ends: PartitionEnds
    since: float | None = None
    overdue: bool = False
    density: float | None = None
    ahead: dict[SourceOffset, Segment] = field(default_factory=dict)
    busy: bool = False
    failures: int = 0
    again: float = 0.0
    trouble: Reason | None = None
    gone: bool = False
    run: PartitionSums = field(default_factory=PartitionSums)
    gaps: Counter[str] = field(default_factory=Counter)
    redundant: int = 0
    rewound: int = 0
    _asked: tuple[SourceOffset, float] = (SourceOffset(-1), 0.0)
    """The end up to which it was planned to be archived, and when the source told that end."""

    @property
    def lag(self) -> int:
        """Number of offsets at the source that are not archived."""
        return max(0, self.ends.stable_end - self.archived_to)

    @property
    def cut_by(self) -> int:
        """By how many offsets the source's log is shorter than what is archived of it."""
        return max(0, self.archived_to - self.ends.stable_end)

    @property
    def spans(self) -> tuple[Span, ...]:
        """The ranges that are written ahead; those that follow each other are one."""
        found: list[Span] = []
        for each in sorted(self.ahead.values(), key=lambda segment: segment.start):
            if found and found[-1][1] == each.start:
                found[-1] = found[-1][0], each.end
            else:
                found.append((each.start, each.end))
        return tuple(found)

    def waited(self, now: float) -> float:
        """Return for how many seconds its oldest offset that is not archived may have waited."""
        return 0.0 if self.since is None else max(0.0, now - self.since)

    def view(self, now: float) -> PartitionView:
        """Return what the plan of a cycle needs."""
        return PartitionView(
            id=self.id,
            topic=self.topic,
            archived_to=self.archived_to,
            log_start=self.ends.log_start,
            stable_end=self.ends.stable_end,
            waited=float("inf") if self.overdue else self.waited(now),
            density=self.density,
            ahead=self.spans,
        )

    def saw(self, ends: PartitionEnds, before: float) -> None:
        """Take in a look.

        Args:
            ends: What it found.
            before: When the look before it was: what is new may be so old.
        """
        self.ends, self.gone = ends, False
        if not self.lag:
            self.since, self.overdue = None, False
        elif self.since is None:
            self.since = before
        if self.cut_by:
            self.trouble = Reason.of(
                ReasonCode.ARCHIVED_BEYOND, end=ends.stable_end, archived=self.archived_to
            )
        elif self.trouble is not None and self.trouble.code is ReasonCode.ARCHIVED_BEYOND:
            self.trouble = None

    def begins(self, looked: float) -> None:
        """Note that a task archives it, up to the end that the source told at a time."""
        self.busy, self._asked = True, (self.ends.stable_end, looked)

    def took(self, segments: Iterable[Segment]) -> None:
        """Keep segments that were written, until they are committed."""
        for each in segments:
            if each.start >= self.archived_to:
                self.ahead[each.start] = each
            if each.records or self.density is None:
                density = each.raw_bytes / (each.end - each.start)
                old = density if self.density is None else self.density
                self.density = old + _NEW * (density - old)

    def ended(self, trouble: Reason | None, now: float) -> None:
        """Note that no task archives it any more, and what kept it from being archived."""
        self.busy, self.trouble = False, trouble
        if trouble is None:
            self.failures = 0
        else:
            self.failures += 1
            self.again = now + AGAIN.after(self.failures)

    def ready(self) -> list[Segment]:
        """Return the segments that follow what is archived, without a hole."""
        found, at = list[Segment](), self.archived_to
        while at in self.ahead:
            found.append(self.ahead[at])
            at = found[-1].end
        return found

    def committed(self, segments: Iterable[Segment]) -> None:
        """Count segments that this run has added to the archive."""
        before = Counter(self.run.gaps)
        for each in segments:
            self.run.add(each)
        self.gaps += self.run.gaps - before

    def reached(self, to: SourceOffset) -> None:
        """Note up to where the partition is archived."""
        if to <= self.archived_to:
            return
        self.archived_to = to
        self.ahead = {start: each for start, each in self.ahead.items() if start >= to}
        if not self.lag:
            self.since, self.overdue = None, False
        elif to >= self._asked[0] >= 0:
            self.since, self.overdue = self._asked[1], False
