"""Sentences about what the target deleted, one for each topic. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from towpath.model.amounts import count, counted
from towpath.model.deleted import DeletedRecords
from towpath.status.status import PartitionStatus

_NAMED = 3


def deleted(rows: Iterable[PartitionStatus]) -> Iterator[str]:
    """Yield a sentence about each topic of whose records the target has deleted some."""
    found = sorted((row for row in rows if row.deleted is not None), key=lambda row: row.tp)
    for topic, each in groupby(found, key=lambda row: row.topic):
        yield from _of_topic(topic, list(each))


def _of_topic(topic: str, rows: list[PartitionStatus]) -> Iterator[str]:
    if len(rows) == 1:
        yield rows[0].named(str(rows[0].deleted))
        return
    parts: list[DeletedRecords] = [row.deleted for row in rows if row.deleted is not None]
    why = ", ".join(sorted({str(each) for part in parts for each in part.why}))
    due = sum(part.due for part in parts)
    told = "".join(
        (
            f"; {count(due)} of them are past the source's own retention" if due else "",
            "; that is meant" if all(part.meant for part in parts) else "",
        )
    )
    places = [
        f"{row.partition} (source offsets {part.first} to {part.end - 1})"
        for row, part in zip(rows, parts, strict=True)
    ][:_NAMED]
    more = f" and {len(rows) - _NAMED} more" if len(rows) > _NAMED else ""
    yield (
        f"{topic}: the target deleted at most {count(sum(part.records for part in parts))} records"
        f" that the source still has ({why}), in {counted(len(rows), 'partition')}:"
        f" {', '.join(places)}{more}{told}"
    )
