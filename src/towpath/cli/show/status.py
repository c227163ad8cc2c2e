"""Partition status as a table and as JSON; `status` and `run` share them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from towpath.cli.show.output import table
from towpath.model.amounts import count, span
from towpath.status.status import PartitionStatus

_HEADERS = ("partition", "target", "state", "mode", "source end", "target end", "lag", "lag time")


def picture(rows: Iterable[PartitionStatus]) -> RenderableType:
    """Return a table of all partitions, and below it remarks about some of them."""
    kept = tuple(rows)
    shown = table(
        _HEADERS,
        (
            (
                f"{row.topic}-{row.partition}",
                row.target_topic,
                row.state,
                row.mode,
                count(row.source_end),
                count(row.target_end),
                "?" if row.lag_records < 0 else count(row.lag_records),
                "?" if row.lag_seconds < 0 else span(row.lag_seconds),
            )
            for row in kept
        ),
        right=("source end", "target end", "lag", "lag time"),
    )
    return Group(shown, *(Text(line) for row in kept for line in remarks(row)))


def remarks(row: PartitionStatus) -> Iterable[str]:
    """Yield why a partition is mapped, what is unusual or missing, and why it is stopped."""
    if row.reason:
        yield row.named(f"{row.mode}, because {row.reason}")
    if row.transacted:
        yield row.named(
            f"{count(row.transacted)} offsets without a record were filled in transactions, and"
            " consumers with isolation.level=read_uncommitted may see empty records there;"
            " `towpath plan` tells which right is missing"
        )
    for gap in row.gaps:
        went = "went on behind it" if gap.went_on else "stopped there"
        what = f"offsets {gap.first} to {gap.end - 1}" if gap.end > gap.first else "nothing more"
        yield row.named(f"gap, {what}: {gap.cause}; {went}")
    if row.error:
        yield row.named(row.error)


def as_json(row: PartitionStatus) -> Mapping[str, Any]:
    """Return a partition's status for programs."""
    return {**asdict(row), "state": str(row.state), "gaps": [asdict(gap) for gap in row.gaps]}
