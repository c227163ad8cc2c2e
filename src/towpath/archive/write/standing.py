"""The archiving state of a partition: its archived end, and its waiting time. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

from towpath.archive.log.partition_sums import PartitionSums
from towpath.archive.model import BatchMark, PartitionId, Segment
from towpath.archive.write.histories.evidence import Doubt, doubt_of
from towpath.archive.write.slice.cycle_plan import PartitionView, Span
from towpath.archive.write.source_look import PartitionEnds
from towpath.cluster.admin.offsets import EpochEnd
from towpath.model.nouns import SourceOffset, TopicName
from towpath.model.reasons import Reason, ReasonCode
from towpath.runtime.backoff import BackOff

AGAIN = BackOff(first=1.0, longest=60.0, jitter=0.1)
"""Pauses before a partition in trouble is tried again."""
_UNSEEN = 60.0
"""Seconds after which a look is so old that records may have come that nobody knows of."""
_NEW = 0.5
"""Weight of the latest segment in the density of a partition."""


@dataclass(slots=True, eq=False)
class PartitionStanding:
    """The archiving state of one partition.

    Attributes:
        id: Its identity.
        topic: The name of its topic.
        archived_to: The offset up to which it is archived.
        ends: Where its log begins and ends, as of the last look that told.
        since: When its oldest offset that is not archived may have come, by the monotonic clock;
            `None` if all is archived.
        held_since: When its oldest offset behind an open transaction may have come, likewise;
            `None` if no transaction is open.
        looked: When the source told its ends last, likewise; `None` if it has not so far.
        overdue: Nobody knows for how long it waits, so it is archived at once.
        density: Bytes for each offset so far, `None` if nothing is known.
        ahead: Segments that are written and not committed, by their start.
        busy: A task archives it.
        failures: How often in a row it could not be archived.
        again: When it is tried again, by the monotonic clock.
        suspect: Its last task died as a whole, so it may be what kills tasks.
        trouble: What keeps it from being archived, `None` if nothing does.
        gone: Its topic is no more at the source, or is another one now.
        run: What this run has archived of it.
        gaps: Offsets without a record in all of its archive, by kind.
        redundant: Records that this run has read in vain, as another writer was faster; `rewound`,
            the segments that it has written of them.
        tail: The last archived batch that is known, `None` if none is.
        over: A later history of the partition has begun.
        doubt: Why the source's log may not be the one that was archived; nothing more is archived
            until that is settled. `None` if nothing speaks for it.
    """

    id: PartitionId
    topic: TopicName
    archived_to: SourceOffset
    ends: PartitionEnds
    since: float | None = None
    held_since: float | None = None
    looked: float | None = None
    overdue: bool = False
    density: float | None = None
    ahead: dict[SourceOffset, Segment] = field(default_factory=dict)
    busy: bool = False
    failures: int = 0
    again: float = 0.0
    suspect: bool = False
    trouble: Reason | None = None
    gone: bool = False
    run: PartitionSums = field(default_factory=PartitionSums)
    gaps: Counter[str] = field(default_factory=Counter)
    redundant: int = 0
    rewound: int = 0
    tail: BatchMark | None = None
    over: bool = False
    doubt: Doubt | None = None
    _tails: dict[SourceOffset, BatchMark | None] = field(default_factory=dict)
    """The last batches of segments that are ahead, by the ends of these."""
    _behinds: dict[SourceOffset, BatchMark] = field(default_factory=dict)
    """The batches that were found before segments that are ahead, by the starts of these."""
    _settled: tuple[PartitionEnds, EpochEnd | None] | None = None
    """What was seen of a log that is the archived one, although something spoke against it."""
    _asked: tuple[SourceOffset, float] = (SourceOffset(-1), 0.0)
    """The end up to which it was planned to be archived, and when the source told that end."""
    _looked: tuple[PartitionEnds, EpochEnd | None] | None = None
    _answers_nothing: bool = False
    """The leader knows no epoch of a log that is the archived one."""

    @property
    def lag(self) -> int:
        """Number of offsets at the source that are not archived."""
        return max(0, self.ends.stable_end - self.archived_to)

    @property
    def has_news(self) -> bool:
        """Whether there is anything to archive, or to record as a gap."""
        return self.lag > 0 or self.ends.log_start > self.archived_to

    @property
    def cut_by(self) -> int:
        """Number of offsets by which the source's log is shorter than its archive."""
        return max(0, self.archived_to - self.ends.stable_end)

    @property
    def spans(self) -> tuple[Span, ...]:
        """The ranges of segments that wait for earlier ones; adjacent ranges are joined."""
        found: list[Span] = []
        for each in sorted(self.ahead.values(), key=lambda segment: segment.start):
            if found and found[-1][1] == each.start:
                found[-1] = found[-1][0], each.end
            else:
                found.append((each.start, each.end))
        return tuple(found)

    def waited(self, now: float) -> float:
        """Return how long the oldest unarchived offset may have waited, in seconds."""
        return 0.0 if self.since is None else max(0.0, now - self.since)

    def exposed(self, now: float) -> float:
        """Return the longest time that unarchived offsets may have waited, in seconds.

        Unlike `waited`, it counts what nobody can archive before a transaction ends, and what may
        have come since the source told its ends last, if that is long ago.
        """
        held = 0.0 if self.held_since is None else max(0.0, now - self.held_since)
        unseen = 0.0 if self.looked is None or self.gone else now - self.looked
        return max(held, self.waited(now), unseen if unseen > _UNSEEN else 0.0)

    def view(self, now: float) -> PartitionView:
        """Return the partition's state for the plan of a cycle."""
        return PartitionView(
            id=self.id,
            topic=self.topic,
            archived_to=self.archived_to,
            log_start=self.ends.log_start,
            stable_end=self.ends.stable_end,
            waited=float("inf") if self.overdue else self.waited(now),
            density=self.density,
            ahead=self.spans,
            tail=self.tail,
        )

    def saw(self, ends: PartitionEnds, before: float, said: EpochEnd | None = None) -> None:
        """Record an observation of the source.

        Args:
            ends: What it found.
            before: When the look before it was: what is new may be so old.
            said: What the leader says of the epoch of the last archived batch.
        """
        if not ends.held:
            self.held_since = None
        elif self.held_since is None or ends.stable_end > self.ends.stable_end:
            self.held_since = before
        self.ends, self.gone = ends, False
        if not self.lag:
            self.since, self.overdue = None, False
        elif self.since is None:
            self.since = before
        if self._answers_nothing and said is not None and said.end < 0:
            said = None
        found = doubt_of(self.archived_to, self.tail, ends, said)
        if found is not None and self._settled != (ends, said):
            self.doubts(found)
        elif self.doubt is None and self._is_cut_told:
            self.trouble = None
        self._looked = ends, said

    @property
    def _is_cut_told(self) -> bool:
        return self.trouble is not None and self.trouble.code is ReasonCode.ARCHIVED_BEYOND

    def doubts(self, doubt: Doubt) -> None:
        """Record evidence that the source's log is not the archived one any more."""
        self.doubt = doubt if self.doubt is None else self.doubt.joined(doubt)
        self.trouble = Reason.of(
            ReasonCode.ARCHIVED_BEYOND, end=self.ends.stable_end, archived=self.archived_to
        )

    def trusts(self) -> None:
        """Record that the source's log is the archived one after all."""
        self.doubt, self.tail, self._settled = None, None, self._looked
        said = self._looked[1] if self._looked is not None else None
        self._answers_nothing = self._answers_nothing or (said is not None and said.end < 0)
        self.ahead, self._tails, self._behinds = {}, {}, {}
        if self._is_cut_told:
            self.trouble = None

    def begins(self, looked: float) -> None:
        """Record that a task archives the partition up to the end observed at a time."""
        self.busy, self._asked = True, (self.ends.stable_end, looked)

    def took(
        self,
        segments: Sequence[Segment],
        tails: Sequence[BatchMark | None] = (),
        behind: BatchMark | None = None,
    ) -> None:
        """Keep written segments until they are committed.

        Args:
            segments: The segments, in order.
            tails: The last batch of each, `None` where it is not known.
            behind: The batch that was found at the offset before the first segment.
        """
        if segments and behind is not None:
            self._behinds[segments[0].start] = behind
        for each, tail in zip_longest(segments, tails):
            if each.start >= self.archived_to:
                self.ahead[each.start] = each
                self._tails[each.end] = tail
            if each.records or self.density is None:
                density = each.raw_bytes / (each.end - each.start)
                old = density if self.density is None else self.density
                self.density = old + _NEW * (density - old)

    def ended(self, trouble: Reason | None, now: float, *, suspect: bool = False) -> None:
        """Record that the task has ended, and its error if there was one."""
        self.busy, self.trouble, self.suspect = False, trouble, suspect
        if trouble is None:
            self.failures = 0
        else:
            self.failures += 1
            self.again = now + AGAIN.after(self.failures)

    def ready(self) -> list[Segment]:
        """Return the written segments that extend the archive without a hole.

        The batch before each is the one that was archived there. If the log had another one, that
        segment and those behind it are dropped.
        """
        found, at, tail = list[Segment](), self.archived_to, self.tail
        while at in self.ahead:
            behind = self._behinds.get(at)
            if tail is not None and behind is not None and tail.contradicts(behind):
                self.ahead = {start: each for start, each in self.ahead.items() if start < at}
                self.doubts(Doubt(sure=True))
                break
            found.append(self.ahead[at])
            at = found[-1].end
            tail = self._tails.get(at) or tail
        return found

    def tail_at(self, end: SourceOffset) -> BatchMark | None:
        """Return the last batch of the segment that ends at an offset, `None` if unknown."""
        return self._tails.get(end)

    def committed(self, segments: Iterable[Segment]) -> None:
        """Count segments that this run has added to the archive."""
        before = Counter(self.run.gaps)
        for each in segments:
            self.run.add(each)
        self.gaps += self.run.gaps - before

    def reached(self, to: SourceOffset, tail: BatchMark | None = None) -> None:
        """Record the new archived end of the partition, and the last known batch."""
        if to <= self.archived_to:
            return
        self.archived_to, self.tail = to, tail
        self.ahead = {start: each for start, each in self.ahead.items() if start >= to}
        self._tails = {end: each for end, each in self._tails.items() if end > to}
        self._behinds = {start: each for start, each in self._behinds.items() if start >= to}
        if not self.lag:
            self.since, self.overdue = None, False
        elif to >= self._asked[0] >= 0:
            self.since, self.overdue = self._asked[1], False
