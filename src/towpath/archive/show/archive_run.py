"""The display of an archive's run, during the run and at its end. Pure."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import Group, RenderableType
from rich.text import Text

from towpath.archive.show.status_shapes import ArchivedRowJson, ArchiveRunJson
from towpath.archive.write.progress import (
    ArchivePhase,
    ArchiveProgress,
    ArchiveRow,
    ArchiveRowState,
)
from towpath.cli.show.grid import Grid
from towpath.cli.show.output import line
from towpath.model.amounts import count, counted, size, span, time_left
from towpath.model.nouns import TopicName
from towpath.model.reasons import as_data

SIGNS = {
    ArchiveRowState.TROUBLE: ("✗", "bold red"),
    ArchiveRowState.GONE: ("-", "dim"),
    ArchiveRowState.WAITING: ("→", "cyan"),
    ArchiveRowState.CAUGHT_UP: ("✓", "green"),
    ArchiveRowState.EARLIER: ("·", "dim"),
}
"""The worst first."""
WORST = {state: place for place, state in enumerate(SIGNS)}
_NAMED = 5
_WINDOW = 30.0
"""Seconds over which the pace is measured."""
_COLUMNS = ("topic", "segments", "records", "archived", "lag", "waits")


@dataclass(slots=True)
class _TopicLine:
    state: ArchiveRowState = ArchiveRowState.CAUGHT_UP
    segments: int = 0
    records: int = 0
    bytes: int = 0
    lag: int = 0
    waited: float = 0.0

    def add(self, row: ArchiveRow) -> None:
        self.state = min(self.state, row.state, key=WORST.__getitem__)
        self.segments += row.segments
        self.records += row.records
        self.bytes += row.bytes
        if row.state is not ArchiveRowState.GONE:
            self.lag += row.lag
            self.waited = max(self.waited, row.waited)


@dataclass(slots=True)
class ArchivePace:
    """The rate at which an archive grows.

    Attributes:
        records: Records per second; `bytes` likewise.
        left: Seconds until nothing waits, `None` if that is not known.
    """

    records: float = 0.0
    bytes: float = 0.0
    left: float | None = None
    _before: list[tuple[float, int, int]] = field(default_factory=list)

    def look(self, rows: Sequence[ArchiveRow], lag: int) -> None:
        """Record the current counts, and update the rates."""
        now = time.monotonic()
        records, amount = sum(row.records for row in rows), sum(row.bytes for row in rows)
        self._before = [each for each in self._before if now - each[0] < _WINDOW]
        self._before.append((now, records, amount))
        since, first, less = self._before[0]
        seconds = max(now - since, 1e-3)
        self.records, self.bytes = (records - first) / seconds, (amount - less) / seconds
        self.left = time_left(lag, self.records)


def run_picture(
    archive: str, progress: ArchiveProgress, pace: ArchivePace, age: float, height: int
) -> RenderableType:
    """Return the live picture of an archive's run.

    Args:
        archive: The name of the archive.
        progress: The run.
        pace: How fast it goes.
        age: Seconds since it began.
        height: Lines of the terminal.
    """
    head = [archive, span(age), str(progress.phase)]
    if progress.phase is ArchivePhase.ARCHIVING:
        slices, done = progress.slices
        head.append(f"version {progress.version}")
        head.append(f"{done}/{slices} slices" if slices else "nothing due")
    parts: list[RenderableType] = [line("  ".join(head))]
    rows = progress.rows
    if rows:
        left = f", ETA {span(pace.left)}" if pace.left is not None else ""
        sums = _sum(rows)
        parts.append(
            line(
                f"{count(sums.records)} records, {size(sums.bytes)} archived;"
                f" {count(round(pace.records))} records/s, {size(pace.bytes)}/s;"
                f" lag {count(progress.lag)}{left}; exposed {span(progress.exposed)}"
            )
        )
        parts.append(line(f"{counted(len(rows), 'partition')}: ").append_text(_states(rows)))
    parts += _alerts(progress)
    topics = _by_topic(rows)
    if topics:
        parts += ["", _topics(topics, max(3, height - len(parts) - 4))]
    return Group(*parts)


def _alerts(progress: ArchiveProgress) -> list[Text]:
    told = [f"! {text}" for text in progress.away()]
    told += [f"✗ {progress.trouble}"] if progress.trouble else []
    named = [*progress.left_out[:_NAMED]]
    more = len(progress.left_out) - len(named)
    told += [f"✗ {text}" for text in named] + ([f"… and {more} more"] if more > 0 else [])
    told += progress.notes
    lines = [line(text) for text in told]
    for each in lines:
        each.stylize("bold red" if each.plain.startswith("✗") else "yellow")
    return lines


def _sum(rows: Iterable[ArchiveRow]) -> _TopicLine:
    found = _TopicLine()
    for row in rows:
        found.add(row)
    return found


def _by_topic(rows: Iterable[ArchiveRow]) -> dict[TopicName, _TopicLine]:
    found: dict[TopicName, _TopicLine] = {}
    for row in rows:
        found.setdefault(row.topic, _TopicLine()).add(row)
    return dict(sorted(found.items(), key=lambda item: (WORST[item[1].state], -item[1].lag)))


def _states(rows: Iterable[ArchiveRow]) -> Text:
    numbers = Counter(row.state for row in rows)
    return Text(", ").join(
        Text(f"{mark} {numbers[state]:,} {state}", style=style)
        for state, (mark, style) in SIGNS.items()
        if numbers[state]
    )


def _topics(topics: Mapping[TopicName, _TopicLine], most: int) -> RenderableType:
    shown = [*topics.items()][:most]
    table = Grid(
        _COLUMNS,
        (
            (
                Text.assemble(archive_sign(each.state), "\u00a0", topic),
                count(each.segments),
                count(each.records),
                size(each.bytes),
                count(each.lag),
                span(each.waited) if each.lag else "-",
            )
            for topic, each in shown
        ),
        right=_COLUMNS[1:],
        spare=("segments", "waits"),
    )
    more = len(topics) - len(shown)
    return Group(table, line(f"… and {counted(more, 'topic')} more")) if more > 0 else table


def archive_sign(state: ArchiveRowState) -> Text:
    """Return the coloured symbol of a partition's state."""
    return Text(*SIGNS[state])


def run_data(
    archive: str, progress: ArchiveProgress, seconds: float, *, stopped: bool
) -> ArchiveRunJson:
    """Return the result of a run for programs."""
    sums = _sum(progress.rows)
    return {
        "archive": archive,
        "seconds": round(seconds, 1),
        "stopped": stopped,
        "complete": not progress.left_out and not progress.trouble,
        "version": progress.version,
        "segments": sums.segments,
        "records": sums.records,
        "bytes": sums.bytes,
        "lag": progress.lag,
        "exposed_seconds": round(progress.exposed, 1),
        "left_out": list(progress.left_out),
        "trouble": progress.trouble,
        "notes": list(progress.notes),
        "partitions": [_row_data(row) for row in progress.rows],
    }


def _row_data(row: ArchiveRow) -> ArchivedRowJson:
    return {
        "topic": row.topic,
        "partition": row.partition,
        "state": str(row.state),
        "archived_to": row.archived_to,
        "stable_end": row.stable_end,
        "lag": row.lag,
        "segments": row.segments,
        "records": row.records,
        "bytes": row.bytes,
        "trouble": as_data(row.trouble) if row.trouble is not None else None,
    }


def run_result(progress: ArchiveProgress, data: ArchiveRunJson) -> RenderableType:
    """Return the result of a run for people."""
    lines = [line(_sentence(progress, data)), *map(line, progress.left_out)]
    lines += [line(f"trouble: {progress.trouble}")] if progress.trouble else []
    return Group(*lines, *map(line, progress.notes))


def _sentence(progress: ArchiveProgress, data: ArchiveRunJson) -> str:
    how = "stopped" if data["stopped"] else "ended" if data["lag"] else "caught up"
    said = f"{how} after {span(data['seconds'])}"
    if not progress.version:
        return f"{said}, before the archive and the source were looked at"
    return (
        f"{said}: {counted(data['segments'], 'segment')}, {count(data['records'])} records,"
        f" {size(data['bytes'])} archived, lag {count(data['lag'])}; version {progress.version}"
    )
