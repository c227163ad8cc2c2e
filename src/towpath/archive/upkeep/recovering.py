"""`towpath archive recover`: add objects that no log entry names to the archive again.

Where the newest entries of the commit log were lost, their objects are still there, and say in
their footers what they hold. What follows where the archive ends is taken in, once its bytes are
proven. Nothing is taken twice: what overlaps the archive is refused and stays where it is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import groupby
from typing import Any, NamedTuple

from towpath.archive.config import ArchiveConfig
from towpath.archive.errors import CorruptSegmentError, NewerSegmentError
from towpath.archive.log import ArchiveState, CommitLog, Draft
from towpath.archive.log.events import ArchiveEvents, ArchiveWhat
from towpath.archive.log.lease import RUN_WORK, HeldArchive
from towpath.archive.model import STREAMING, GapKind, OffsetGap, PartitionId, Segment, gap_segment
from towpath.archive.read.unnamed_objects import Holdings, listed, segments_of, unnamed
from towpath.archive.read.verify.content import prove
from towpath.archive.upkeep.compacting import archive_lease
from towpath.model.errors import ObjectMissingError, StoppedError
from towpath.model.nouns import SourceOffset
from towpath.store import Store
from towpath.store.stopping import stoppable

_MOST = 5_000
"""Segments of one entry."""
_STOPPED = "what was committed so far is in the archive; run the command again for the rest"
OnDone = Callable[[int, int], None]
"""Gets how many objects were proven, and how many are to be."""


class StrayFate(StrEnum):
    """The decisions about segments in orphaned objects."""

    TAKEN = "taken"
    """It follows where the archive ends, and is taken in."""
    SPARE = "spare"
    """The archive holds all of it elsewhere, or let it go on request."""
    REFUSED = "refused"
    """It holds what the archive lacks, and cannot be taken in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundSegment:
    """A segment in an orphaned object, with the decision about it.

    Attributes:
        key: The key of the object.
        segment: What the object says of it.
        verdict: What is done with it.
        why: Why it is not taken in, "" if it is.
        gap: Offsets before it that are in no object, and become a gap of the kind `lost`.
    """

    key: str
    segment: Segment
    verdict: StrayFate
    why: str = ""
    gap: int = 0


@dataclass(slots=True, kw_only=True)
class Recovery:
    """The plan and the result of a recovery.

    Attributes:
        version: The version of the archive that was looked at, or that was written last.
        segments: What was found in objects that are in no entry.
        unreadable: Why objects cannot be read, by their keys.
        done: Whether what is taken was committed; else this is a plan alone.
    """

    version: int = 0
    segments: tuple[FoundSegment, ...] = ()
    unreadable: Mapping[str, str] = field(default_factory=dict)
    done: bool = False

    def of(self, verdict: StrayFate) -> tuple[FoundSegment, ...]:
        """Return the segments with one decision."""
        return tuple(each for each in self.segments if each.verdict is verdict)

    @property
    def complete(self) -> bool:
        """Whether nothing is left that the archive lacks."""
        return not (self.of(StrayFate.REFUSED) or self.unreadable)


class Stray(NamedTuple):
    """A segment with the key of its orphaned object."""

    key: str
    segment: Segment


def planned(
    state: ArchiveState, found: Iterable[Stray], spare: Callable[[Segment], bool], *, lost: bool
) -> Iterator[FoundSegment]:
    """Yield a decision for each segment in orphaned objects, by partition and start.

    Args:
        state: The archive.
        found: The segments.
        spare: Whether the archive holds all of a segment elsewhere.
        lost: Whether offsets that are in no object become a gap.
    """
    ordered = sorted(found, key=_order)
    for partition, strays in groupby(ordered, key=lambda each: each.segment.partition_id):
        known, why = state.partitions.get(partition), _stranger(state, partition)
        chain = _Chain(known.archived_to if known is not None else None, spare, lost=lost)
        for key, segment in strays:
            verdict, reason, gap = (StrayFate.REFUSED, why, 0) if why else chain.judged(segment)
            yield FoundSegment(key=key, segment=segment, verdict=verdict, why=reason, gap=gap)


def _order(stray: Stray) -> tuple[Any, ...]:
    """Of several that begin at the same offset, the longest one with the most records is first."""
    segment = stray.segment
    return segment.partition_id, segment.start, -segment.end, -segment.records, stray.key


_Judged = tuple[StrayFate, str, int]


class _Chain:
    """The segments of one partition, from where the archive of it ends; `None` for a new one."""

    def __init__(
        self, at: SourceOffset | None, spare: Callable[[Segment], bool], *, lost: bool
    ) -> None:
        self._archived, self._at = at, at
        self._spare, self._lost = spare, lost

    def judged(self, segment: Segment) -> _Judged:
        """Return the decision about the next segment, its reason, and the gap before it."""
        at = segment.start if self._at is None else self._at
        gap = segment.start - at
        if gap < 0:
            return *self._overlapping(segment, at), 0
        if gap and not self._lost:
            why = (
                f"offsets {at} to {segment.start - 1} before it are in no object; `archive run`"
                " archives them if the source still has them, and --lost makes a gap of them"
            )
            return StrayFate.REFUSED, why, 0
        self._at = segment.end
        return StrayFate.TAKEN, "", gap

    def _overlapping(self, segment: Segment, at: SourceOffset) -> tuple[StrayFate, str]:
        if self._spare(segment):
            return (
                StrayFate.SPARE,
                "the archive holds these offsets elsewhere, or they were pruned",
            )
        if self._archived is not None and segment.start < self._archived:
            end = min(segment.end, self._archived)
            return StrayFate.REFUSED, (
                f"offsets {segment.start} to {end - 1} are archived already, in part as gaps or in"
                " objects that are missing; `towpath archive verify` tells which"
            )
        if segment.end <= at:
            return StrayFate.SPARE, "another object that is taken in holds these offsets"
        return (
            StrayFate.REFUSED,
            f"another object that is taken in holds its offsets up to {at - 1}",
        )


def _stranger(state: ArchiveState, partition: PartitionId) -> str:
    """Return why nothing of a partition can be taken in, "" if it can."""
    clusters = {each.cluster for each in state.partitions}
    if clusters and partition.cluster not in clusters:
        return f"it is of the cluster {partition.cluster}, of which the archive holds nothing"
    if partition.later in state.partitions:
        return "a later history of its partition has begun"
    if partition.history and partition not in state.partitions:
        return f"history {partition.history} of its partition begins in an entry that is not there"
    return ""


def plan_recovery(config: ArchiveConfig, *, lost: bool) -> Recovery:
    """Plan a recovery.

    Raises:
        CommitLogError: The log cannot be used, or there is no archive.
        StoreError: The store cannot be read.
    """
    with Store(config.store) as store:
        log = CommitLog.open(store, config.region)
        return _Recovering(config, log, lost=lost).plan()


def recover(
    config: ArchiveConfig, stop: threading.Event, on_done: OnDone, *, lost: bool
) -> Recovery:
    """Add orphaned objects to the archive again.

    Args:
        config: The archive.
        stop: Set to stop.
        on_done: Told how far it is.
        lost: Whether offsets that are in no object become a gap of the kind `lost`.

    Raises:
        ArchiveHeldError: A run goes on, or another process compacts, prunes or forgets.
        CommitLogError: The log cannot be used, or there is no archive.
        StoppedError: The user asked to stop.
        StoreError: The store cannot be used.
    """
    with stoppable(stop, _STOPPED), ExitStack() as stack:
        store = stack.enter_context(Store(config.store, stop=stop))
        log = CommitLog.open(store, config.region)
        lease = HeldArchive(store, config.archive, config.region, "recover", RUN_WORK, stop)
        stack.enter_context(lease)
        stack.enter_context(
            archive_lease(config, store, "recover", stop)
        )  # nobody sweeps meanwhile
        log.follow()
        log.require_tip()
        events = stack.enter_context(ArchiveEvents(store, config.region, config.archive))
        work = _Recovering(config, log, lost=lost)
        made = work.proven(stop, on_done)
        taken = made.of(StrayFate.TAKEN)
        for some in _portions(taken):
            lease.require()
            log.append(Draft(writer=lease.writer, add=tuple(some)))
        if taken:
            _tell(events, log, taken)
        made.version, made.done = log.state.version, True
        return made


def _tell(events: ArchiveEvents, log: CommitLog, taken: tuple[FoundSegment, ...]) -> None:
    events.tell(
        ArchiveWhat.RECOVERED,
        version=log.state.version,
        segments=len(taken),
        objects=len({each.key for each in taken}),
        records=sum(each.segment.records for each in taken),
        lost=sum(each.gap for each in taken),
        topics=sorted({each.segment.topic for each in taken}),
    )


class _Recovering:
    def __init__(self, config: ArchiveConfig, log: CommitLog, *, lost: bool) -> None:
        self._log, self._lost = log, lost
        there = listed(config.region, log.store, spread=config.store.spread)
        log.follow()  # what was committed while the store was listed
        self._elsewhere = Holdings(log, log.state)
        self._unreadable: dict[str, str] = {}
        self._found: list[Stray] = []
        for each in unnamed(log.state, there):
            try:
                self._found += (Stray(each.key, one) for one in segments_of(log.store, each))
            except (CorruptSegmentError, NewerSegmentError) as error:
                self._unreadable[each.key] = str(error)
            except ObjectMissingError:
                continue

    def plan(self) -> Recovery:
        """Return the decisions, as far as footers can tell."""
        state = self._log.state
        found = planned(state, self._found, self._elsewhere.is_spare, lost=self._lost)
        return Recovery(
            version=state.version, segments=tuple(found), unreadable=dict(self._unreadable)
        )

    def proven(self, stop: threading.Event, on_done: OnDone) -> Recovery:
        """Return the decisions after the content of all accepted objects was verified.

        Raises:
            StoppedError: The user asked to stop.
        """
        whole: dict[str, int] = {}
        while True:
            plan = self.plan()
            keys = dict.fromkeys(each.key for each in plan.of(StrayFate.TAKEN))
            missing = [key for key in keys if key not in whole]
            if not missing:
                return replace(plan, segments=tuple(_summed(plan.segments, whole)))
            for number, key in enumerate(missing):
                if stop.is_set():
                    raise StoppedError(_STOPPED)
                self._prove(key, whole)
                on_done(number + 1, len(missing))

    def _prove(self, key: str, whole: dict[str, int]) -> None:
        own = [each.segment for each in self._found if each.key == key and each.segment.place]
        try:
            whole[key], problem = prove(self._log.store, own)
        except (CorruptSegmentError, ObjectMissingError) as error:
            problem = str(error)
        if problem:
            self._unreadable[key] = problem
            self._found = [each for each in self._found if each.key != key]


def _summed(found: Iterable[FoundSegment], crcs: Mapping[str, int]) -> Iterator[FoundSegment]:
    for each in found:
        place, crc = each.segment.place, crcs.get(each.key)
        if place is None or crc is None:
            yield each
        else:
            yield replace(each, segment=replace(each.segment, place=replace(place, crc=crc)))


def _portions(taken: Iterable[FoundSegment]) -> Iterator[list[Segment]]:
    some: list[Segment] = []
    for each in taken:
        if each.gap:
            some.append(_gap_before(each))
        # The log takes from Kafka's segments only what follows, so that there is no hole.
        some.append(replace(each.segment, level=STREAMING))
        if len(some) >= _MOST:
            yield some
            some = []
    if some:
        yield some


def _gap_before(found: FoundSegment) -> Segment:
    segment = found.segment
    first = SourceOffset(segment.start - found.gap)
    gap = OffsetGap(first, segment.start, GapKind.LOST)
    return replace(gap_segment(segment.partition_id, segment.topic, gap), created=segment.created)
