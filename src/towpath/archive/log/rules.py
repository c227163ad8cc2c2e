"""The rules of the commit log: which entries may follow a state. Pure.

A partition's segments tile: each begins where the one before it ends. So an archived segment must
begin where its partition ends, and whatever replaces segments must have their range, and their
records as far as the digest tells. With these rules there is neither a hole nor a duplicate,
whoever writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise

from towpath.archive.errors import CommitRefusedError
from towpath.archive.log.entries import Draft, EntryKind, LogEntry, SeenPartition
from towpath.archive.log.histories import forking_problem
from towpath.archive.log.state import ArchiveState, begin_of, is_streaming
from towpath.archive.model import GapCounts, GapKind, PartitionId, Segment, SegmentId
from towpath.model.digest import Digest
from towpath.model.nouns import SourceOffset


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The part of a draft that may be committed after a state.

    Attributes:
        draft: That part of the draft; its partitions say up to where they are archived.
        known: Added segments that the archive has, or had before they were compacted: an earlier
            attempt wrote them.
        dropped: Added segments that are redundant, as another writer was faster.
        asked: Whether the draft as a whole wanted to add, remove or sweep anything.
    """

    draft: Draft
    asked: bool
    known: tuple[Segment, ...] = ()
    dropped: tuple[Segment, ...] = ()

    @property
    def says_nothing(self) -> bool:
        """Whether no entry is needed, because everything in the draft is already known."""
        draft = self.draft
        return self.asked and not (draft.add or draft.remove or draft.captures or draft.swept)


def judge(state: ArchiveState, draft: Draft, *, raced: bool = False) -> Judged:
    """Return the part of a drafted log entry that may be committed after a given state.

    Args:
        state: The newest state.
        draft: What a writer wants to commit.
        raced: Whether the state moved since the writer made its plan. Then a segment that does not
            follow is dropped; else it is a fault.

    Raises:
        CommitRefusedError: The draft contradicts the state, or itself.
    """
    for each in draft.add:
        if problem := each.problem:
            raise CommitRefusedError(f"segment {each.id}: {problem}")
    if draft.kind is EntryKind.ARCHIVE:
        return _archived(state, draft, raced=raced)
    if draft.kind is EntryKind.SWEEP:
        return _swept(state, draft)
    return _replaced(state, draft, raced=raced)


def problem_of(state: ArchiveState, entry: LogEntry) -> str:
    """Return an entry's contradiction to the state before it, "" if there is none."""
    if entry.version != state.version + 1:
        return f"it says that it is version {entry.version}"
    if entry.before != state.tip:
        return "it was written behind another entry than the one that is there"
    before = state.writers.get(entry.writer.work)
    if before is not None and entry.writer.epoch < before.epoch:
        return f"it was written by {entry.writer.host}, whose work another process had taken over"
    told = replace(
        Draft(writer=entry.writer),
        kind=entry.kind,
        add=entry.add,
        remove=entry.remove,
        partitions=entry.partitions,
        captures=entry.captures,
        swept=entry.swept,
    )
    try:
        judged = judge(state, told)
    except CommitRefusedError as error:
        return error.what
    if judged.draft != told:
        return "it adds what the archive has already, or something that does not follow"
    return ""


def _archived(state: ArchiveState, draft: Draft, *, raced: bool) -> Judged:
    if draft.remove or draft.swept:
        raise CommitRefusedError("archiving removes nothing")
    if problem := forking_problem(state, draft):
        raise CommitRefusedError(problem)
    add: list[Segment] = []
    known: list[Segment] = []
    dropped: list[Segment] = []
    ends = _ends(state, draft)
    for each in sorted(draft.add, key=lambda each: (each.partition_id, each.start)):
        if not is_streaming(each):
            raise CommitRefusedError(f"segment {each.id} does not come from Kafka")
        at = ends.setdefault(each.partition_id, each.start)
        if each.start == at and each.partition_id.later not in state.partitions:
            add.append(each)
            ends[each.partition_id] = each.end
        elif _was_added(state, each):
            known.append(each)
        elif each.start < at or raced:
            dropped.append(each)
        elif each.start == at:
            raise CommitRefusedError(f"segment {each.id}: a later history of it has begun")
        else:
            raise CommitRefusedError(f"segment {each.id}: its partition is archived up to {at}")
    seen = tuple(
        _as_of(
            replace(each, fork=None) if each.partition_id in state.partitions else each,
            ends.get(each.partition_id),
        )
        for each in draft.partitions
    )
    kept = replace(draft, add=tuple(add), partitions=seen)
    return Judged(draft=kept, asked=bool(draft.add), known=tuple(known), dropped=tuple(dropped))


def _ends(state: ArchiveState, draft: Draft) -> dict[PartitionId, SourceOffset]:
    """Return up to where partitions of a draft are archived; new ones begin as they say."""
    new = {each.partition_id: begin_of(each) for each in draft.partitions}
    for each in draft.add:
        new.pop(each.partition_id, None)  # they begin with their first segment
    named = {each.partition_id for each in draft.add} | {*new}
    named |= {each.partition_id for each in draft.partitions}
    known = {each: state.partitions[each].archived_to for each in named if each in state.partitions}
    return new | known


def _as_of(seen: SeenPartition, end: SourceOffset | None) -> SeenPartition:
    to = begin_of(seen) if end is None else end
    tail = seen.tail if seen.tail is not None and seen.tail.base < to else None
    return replace(seen, archived_to=to, tail=tail)


def _was_added(state: ArchiveState, segment: Segment) -> bool:
    if state.segment(segment.id) == segment:
        return True
    return segment.place is not None and segment.place.key in state.removed


def _swept(state: ArchiveState, draft: Draft) -> Judged:
    if draft.add or draft.remove:
        raise CommitRefusedError("sweeping neither adds nor removes segments")
    unused = state.unused_objects()
    used = [key for key in draft.swept if key in state.removed and key not in unused]
    if used:
        raise CommitRefusedError(f"object {used[0]} was swept, and a segment has it")
    swept = tuple(key for key in draft.swept if key in unused)
    kept = replace(draft, swept=swept, partitions=_present(state, draft))
    return Judged(draft=kept, asked=bool(draft.swept))


def _replaced(state: ArchiveState, draft: Draft, *, raced: bool) -> Judged:
    """Judge each partition by itself: all that is replaced in it must be there, or none of it."""
    if draft.swept:
        raise CommitRefusedError("only sweeping deletes objects")
    added, removed = _by_partition(draft.add), _grouped(draft.remove)
    add: list[Segment] = []
    remove: list[SegmentId] = []
    known: list[Segment] = []
    dropped: list[Segment] = []
    for partition in sorted({**removed, **added}):
        wanted, gone = added.get(partition, []), removed.get(partition, [])
        present = [state.segment(each) for each in gone]
        found = [each for each in present if each is not None]
        if len(found) == len(gone) and gone:
            if problem := _contradiction(state, draft.kind, partition, found, wanted):
                raise CommitRefusedError(problem)
            add += wanted
            remove += gone
        elif wanted and all(_was_added(state, each) for each in wanted):
            known += wanted
        elif raced or _is_behind(state, gone):
            dropped += wanted
        else:
            raise CommitRefusedError(
                f"{len(gone) - len(found)} segments of {partition} are not there"
            )
    kept = replace(draft, add=tuple(add), remove=tuple(remove), partitions=_present(state, draft))
    asked = bool(draft.add or draft.remove)
    return Judged(draft=kept, asked=asked, known=tuple(known), dropped=tuple(dropped))


def _is_behind(state: ArchiveState, gone: Sequence[SegmentId]) -> bool:
    """Whether segments that are not there lie where others are, or were."""
    places = [state.partitions.get(each.partition_id) for each in gone]
    return all(
        place is not None and each.end <= place.archived_to
        for each, place in zip(gone, places, strict=True)
    )


def _present(state: ArchiveState, draft: Draft) -> tuple[SeenPartition, ...]:
    """Return what was seen of partitions that the archive has."""
    known = [each for each in draft.partitions if each.partition_id in state.partitions]
    return tuple(_as_of(each, state.partitions[each.partition_id].archived_to) for each in known)


def _contradiction(
    state: ArchiveState,
    kind: EntryKind,
    partition: PartitionId,
    before: Sequence[Segment],
    after: Sequence[Segment],
) -> str:
    """Return why segments may not be replaced by others, "" if they may."""
    if kind is EntryKind.PRUNE:
        begins = state.partitions[partition].begin == before[0].start and _tile(before)
        return "" if begins and not after else f"{partition} is not pruned from its begin on"
    left = list(after)
    for run in _runs(before):
        inside = [each for each in left if run[0].start <= each.start < run[-1].end]
        left = [each for each in left if each not in inside]
        if problem := _run_contradiction(kind, partition, run, inside):
            return problem
    return f"{left[0].id} replaces nothing" if left else ""


def _run_contradiction(
    kind: EntryKind, partition: PartitionId, before: Sequence[Segment], after: Sequence[Segment]
) -> str:
    first, end = before[0].start, before[-1].end
    at = f"[{first}, {end}) of {partition}"
    if not after or not _tile(after) or (after[0].start, after[-1].end) != (first, end):
        return f"what replaces {at} does not have this range"
    if any(is_streaming(each) for each in after) and kind is EntryKind.COMPACT:
        return f"what replaces {at} says that it comes from Kafka"
    return _other_records(kind, at, before, after)


def _other_records(
    kind: EntryKind, at: str, before: Sequence[Segment], after: Sequence[Segment]
) -> str:
    old, new = _digest(before), _digest(after)
    old_gaps, new_gaps = _gaps(before), _gaps(after)
    if kind is EntryKind.COMPACT:
        if old != new:
            return f"what replaces {at} has other records: {new}, not {old}"
        if old_gaps != new_gaps:
            return f"what replaces {at} has other gaps: {new_gaps}, not {old_gaps}"
        return ""
    grows = GapKind.ERASED if kind is EntryKind.FORGET else GapKind.LOST
    more = {each: new_gaps.get(each) - old_gaps.get(each) for each in GapKind}
    if more.pop(grows) != old.records - new.records or any(more.values()):
        return f"what replaces {at} has other gaps than the records that are {grows}"
    return "" if new.records <= old.records else f"what replaces {at} has more records"


def _runs(segments: Sequence[Segment]) -> list[list[Segment]]:
    """Return segments that follow each other together."""
    runs: list[list[Segment]] = []
    for each in segments:
        if runs and runs[-1][-1].end == each.start:
            runs[-1].append(each)
        else:
            runs.append([each])
    return runs


def _tile(segments: Sequence[Segment]) -> bool:
    return all(one.end == other.start for one, other in pairwise(segments))


def _digest(segments: Iterable[Segment]) -> Digest:
    return reduce(Digest.then, (each.digest for each in segments), Digest())


def _gaps(segments: Iterable[Segment]) -> GapCounts:
    return reduce(GapCounts.then, (each.gaps for each in segments), GapCounts())


def _by_partition(segments: Iterable[Segment]) -> Mapping[PartitionId, list[Segment]]:
    found: dict[PartitionId, list[Segment]] = {}
    for each in sorted(segments, key=lambda each: (each.partition_id, each.start)):
        found.setdefault(each.partition_id, []).append(each)
    return found


def _grouped(ids: Iterable[SegmentId]) -> Mapping[PartitionId, list[SegmentId]]:
    found: dict[PartitionId, list[SegmentId]] = {}
    for each in sorted(ids, key=lambda each: (each.partition_id, each.start)):
        found.setdefault(each.partition_id, []).append(each)
    return found
