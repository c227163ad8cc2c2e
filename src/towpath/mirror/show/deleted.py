"""Sentences about records that the target deleted, by topic. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import groupby

from towpath.cli.show.fold import MANY
from towpath.mirror.status.partition_status import PartitionStatus
from towpath.model.amounts import count, counted, shortened
from towpath.model.deleted import DeletedRecords

_NAMED = 3


def deleted(rows: Iterable[PartitionStatus]) -> Iterator[str]:
    """Yield sentences about topics with records that the target has deleted.

    Many topics of which the same is said are one sentence.
    """
    found = sorted((row for row in rows if row.deleted is not None), key=lambda row: row.tp)
    topics = [(name, list(each)) for name, each in groupby(found, key=lambda row: row.topic)]
    alike: dict[tuple[str, bool], list[str]] = defaultdict(list)
    for name, some in topics:
        alike[_kind(some)].append(name)
    told = set()
    for name, some in topics:
        kind = _kind(some)
        if len(alike[kind]) < MANY:
            yield from _of_topic(name, some)
        elif kind not in told:
            told.add(kind)
            yield _of_many(alike[kind], [row for row in found if row.topic in alike[kind]])


def _kind(rows: list[PartitionStatus]) -> tuple[str, bool]:
    """Return what is said of a topic beside numbers: what deletes, and whether that is meant."""
    parts = _parts(rows)
    return _why(parts), all(part.meant for part in parts)


def _parts(rows: Iterable[PartitionStatus]) -> list[DeletedRecords]:
    return [row.deleted for row in rows if row.deleted is not None]


def _why(parts: Iterable[DeletedRecords]) -> str:
    return ", ".join(sorted({str(each) for part in parts for each in part.why}))


def _of_many(names: list[str], rows: list[PartitionStatus]) -> str:
    parts = _parts(rows)
    return (
        f"{', '.join(names[:_NAMED])} and {len(names) - _NAMED} more: the target deleted at most"
        f" {count(sum(part.records for part in parts))} records that the source still has"
        f" ({_why(parts)}), in {counted(len(rows), 'partition')} of"
        f" {counted(len(names), 'topic')}{_beside(parts)}; --output json has each"
    )


def _beside(parts: list[DeletedRecords]) -> str:
    due = sum(part.due for part in parts)
    return "".join(
        (
            f"; {count(due)} of them are past the source's own retention" if due else "",
            "; that is meant" if all(part.meant for part in parts) else "",
        )
    )


def _of_topic(topic: str, rows: list[PartitionStatus]) -> Iterator[str]:
    if len(rows) == 1:
        yield rows[0].named(str(rows[0].deleted))
        return
    parts = _parts(rows)
    places = [
        f"{row.partition} (source offsets {part.first} to {part.end - 1})"
        for row, part in zip(rows, parts, strict=True)
    ]
    yield (
        f"{topic}: the target deleted at most {count(sum(part.records for part in parts))} records"
        f" that the source still has ({_why(parts)}), in {counted(len(rows), 'partition')}:"
        f" {shortened(places, _NAMED)}{_beside(parts)}"
    )
