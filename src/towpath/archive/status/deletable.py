"""The answer whether topics are archived completely and may be deleted at the source. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from towpath.archive.log import ArchivedTo, ArchiveState
from towpath.archive.model import PartitionId
from towpath.archive.write.source_look import SourceLook
from towpath.model.amounts import count, counted
from towpath.runtime.clock import readable

_TOLD = 10
"""Reasons that are told one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteAnswer:
    """The answer whether some topics are archived completely.

    Attributes:
        at: When the source was asked, in ms.
        partitions: How many partitions the source has of them.
        why: Why they are not safe to delete, one sentence each; empty if they are.
    """

    at: int
    partitions: int
    why: tuple[str, ...] = ()

    @property
    def safe(self) -> bool:
        """Whether everything that the source held at that time is archived."""
        return not self.why

    @property
    def lines(self) -> tuple[str, ...]:
        """The answer as sentences for people."""
        when = f"as of {readable(self.at)}"
        if self.safe:
            return (
                f"safe to delete: yes, {when}: all that the source holds of"
                f" {counted(self.partitions, 'partition')} is archived by the commit log; what is"
                " written from now on is not, so stop the writers first, and ask again",
            )
        more = len(self.why) - _TOLD
        rest = (f"and {count(more)} more",) if more > 0 else ()
        return (f"safe to delete: NO, {when}:", *(f"  {each}" for each in self.why[:_TOLD]), *rest)


def answer(state: ArchiveState, seen: SourceLook | None, why_unseen: str, at: int) -> DeleteAnswer:
    """Return whether everything that the source holds of some topics is archived.

    Args:
        state: The archive, as of its newest version.
        seen: What the source has of the topics, and of no others; `None` if it was not asked.
        why_unseen: Why it was not asked.
        at: When it was, in ms.
    """
    if seen is None:
        told = why_unseen or "the source was not asked"
        return DeleteAnswer(at=at, partitions=0, why=(f"nobody knows what it holds: {told}",))
    reasons = [f"{name}: {error}" for name, error in sorted(seen.hidden.items())]
    for partition, error in sorted(seen.failed.items()):
        reasons.append(f"{_named(seen, partition)}: where its log ends is not known: {error}")
    for partition in sorted(seen.ends):
        name = _named(seen, partition)
        reasons += [f"{name}: {each}" for each in _missing(state, seen, partition)]
    if not (seen.topics or seen.hidden):
        reasons.append("the source has no topic that `--topics` and the file's `topics` both take")
    return DeleteAnswer(at=at, partitions=len(seen.ends), why=tuple(reasons))


def _named(seen: SourceLook, partition: PartitionId) -> str:
    return f"{seen.topics[partition.topic_id].name}-{partition.partition}"


def _missing(state: ArchiveState, seen: SourceLook, source: PartitionId) -> Iterator[str]:
    """Yield what the source holds of a partition that the archive lacks."""
    ends = seen.ends[source]
    end = max(ends.high_watermark, ends.stable_end)
    newest = _newest(state, source)
    if newest is None:
        if end > ends.log_start:
            yield f"{_are(end - ends.log_start)} not archived: nothing is, so far"
        return
    partition, known = newest
    if end < known.archived_to:
        yield (
            f"its log ends at offset {end}, before what is archived (up to {known.archived_to}):"
            " it was cut, and may hold other records; a run of the archive finds out"
        )
        return
    if end > known.archived_to:
        held = f", {count(ends.held)} of them behind an open transaction" if ends.held else ""
        yield f"{_are(end - known.archived_to)} not archived{held}"
    yield from _inside(state, partition, known, ends.log_start)


def _inside(
    state: ArchiveState, partition: PartitionId, known: ArchivedTo, log_start: int
) -> Iterator[str]:
    """Yield what is lacking before the end of the archive, and is at the source."""
    begin = known.begin
    for number in range(partition.history):
        begin = min(begin, state.partitions[partition.of_history(number)].begin)
    if begin > log_start:
        yield f"offsets {log_start} to {begin - 1} are at the source and not in the archive"
    histories: Iterable[PartitionId] = map(partition.of_history, range(partition.history + 1))
    found = [each for id_ in histories for each in state.segments(id_, log_start)]
    filtered = sum(each.gaps.filtered for each in found)
    lost = sum(each.gaps.lost for each in found)
    if filtered:
        yield (
            f"{_are(filtered)} left out of the archive (filtered), as a restore wrote"
            " them and the file says `restored: leave_out`"
        )
    if lost:
        yield f"{_are(lost)} lost in the archive, which had archived what is there"


def _newest(state: ArchiveState, source: PartitionId) -> tuple[PartitionId, ArchivedTo] | None:
    found = None
    partition = source
    while partition in state.partitions:
        found = partition, state.partitions[partition]
        partition = partition.later
    return found


def _are(offsets: int) -> str:
    return f"{counted(offsets, 'offset')} {'is' if offsets == 1 else 'are'}"
