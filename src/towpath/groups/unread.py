"""Records that groups have not read, that the source still has, and that the target lacks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from towpath.cluster.data.client import Client
from towpath.groups.model import GroupPosition
from towpath.groups.reading import Log
from towpath.ledger.link import OpenLink
from towpath.model.amounts import counted, shortened
from towpath.model.errors import ClusterError, CorruptBatchError
from towpath.model.groups import ClientGroup
from towpath.model.nouns import Side, TopicPartition

MOST = 10_000
"""Most offsets whose records are counted one by one; of more, only the first record is read."""
_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class PassedOver:
    """Records in one partition that a group would skip.

    Attributes:
        group: The group, with its name at the source.
        tp: The source partition.
        first: Source offset of the first of these records.
        end: Source offset at which the group goes on.
        records: Their number, or the most that there may be.
        counted: Whether that number is exact.
    """

    group: ClientGroup
    tp: TopicPartition
    first: int
    end: int
    records: int
    counted: bool = True

    def __str__(self) -> str:
        return f"{self.tp}: offsets {self.first} to {self.end - 1}"


Found = tuple[int, int, bool]
"""The first record of a range of source offsets, the number of records, whether that is exact."""
Counting = Callable[[TopicPartition, int, int], Found]
"""Counts the records of a partition between two offsets; the number is 0 where there are none."""


def passed_over(
    positions: Iterable[GroupPosition], starts: Mapping[TopicPartition, int], counting: Counting
) -> Iterator[PassedOver]:
    """Yield what each group would pass over, by partition.

    Args:
        positions: The positions of a sync, or of its preview.
        starts: Where the source logs begin now: what is before that nobody has any more.
        counting: Counts the records there.
    """
    known: dict[tuple[TopicPartition, int, int], Found] = {}
    for each in positions:
        if each.answer is None or not (each.settled or each.due):
            continue
        at = each.tp, max(int(each.source), starts.get(each.tp, 0)), each.answer.resumes
        if at[1] >= at[2]:
            continue
        if at not in known:  # many groups stand at the same place
            known[at] = counting(*at)
        first, records, exact = known[at]
        if records:
            yield PassedOver(
                group=each.group, tp=each.tp, first=first, end=at[2], records=records, counted=exact
            )


def look_at_unread(link: OpenLink, positions: Iterable[GroupPosition]) -> tuple[PassedOver, ...]:
    """Return the records that groups would skip, by the logs of the source.

    Args:
        link: The link.
        positions: The positions of a sync, or of its preview.

    Raises:
        ClusterError: The source cannot be reached.
    """
    given = [each for each in positions if each.answer and each.answer.resumes > each.source]
    if not given:
        return ()
    starts = link.source.offsets.earliest({each.tp for each in given})
    with Client(link.config.source, Side.SOURCE, link.source) as client:

        def counting(tp: TopicPartition, first: int, end: int) -> Found:
            return count_records(Log(link.source, client, tp), first, end)

        return tuple(passed_over(given, starts, counting))


def count_records(log: Log, first: int, end: int) -> Found:
    """Return the first record in [first, end), the number of records, and whether that is exact."""
    found, records = first, 0
    try:
        for record, _ in log.records(first, end):
            if record.offset >= end:
                break
            if record.offset < first:
                continue
            found, records = (found if records else record.offset), records + 1
            if end - found > MOST:
                return found, end - found, False
    except (ClusterError, CorruptBatchError):
        return first, end - first, False
    return found, records, True


def by_client(found: Iterable[PassedOver]) -> dict[ClientGroup, tuple[PassedOver, ...]]:
    """Return what groups have not read, by group."""
    rows: dict[ClientGroup, list[PassedOver]] = {}
    for each in found:
        rows.setdefault(each.group, []).append(each)
    return {group: tuple(theirs) for group, theirs in rows.items()}


def group_texts(found: Iterable[PassedOver]) -> dict[ClientGroup, str]:
    """Return by group how many records it would pass over, and which."""
    ordered = sorted(found, key=lambda each: (each.group, each.tp))
    return {group: _text(rows) for group, rows in by_client(ordered).items()}


def unread_text(rows: Iterable[PassedOver]) -> str:
    """Return how many records a group has not read at the source, and which."""
    given = tuple(rows)
    return f"it has not read {_records(given)} at the source ({_places(given)})"


def _text(rows: tuple[PassedOver, ...]) -> str:
    return (
        f"the target lacks {_records(rows)} that the group has not read and the source still has"
        f" ({_places(rows)})"
    )


def _records(rows: tuple[PassedOver, ...]) -> str:
    up_to = "" if all(each.counted for each in rows) else "up to "
    return f"{up_to}{counted(sum(each.records for each in rows), 'record')}"


def _places(rows: tuple[PassedOver, ...]) -> str:
    return shortened([str(each) for each in rows], _NAMED)
