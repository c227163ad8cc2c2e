"""The progress of a run: one line per topic."""

from __future__ import annotations

import sys
import time
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from towpath.cli.show.output import console, table
from towpath.metrics import log
from towpath.mirror.progress import RunProgress
from towpath.model.amounts import count, size, span
from towpath.model.nouns import TopicName
from towpath.status.status import PartitionStatus

_WINDOW = 10.0
_LINE_EVERY = 300.0
_NAMED = 5
_HEADERS = ("topic", "records", "copied", "records/s", "MB/s", "lag", "ETA", "identical", "stopped")


@dataclass(slots=True)
class TopicLine:
    """The partitions of one topic, added up."""

    records: int = 0
    size: int = 0
    lag: int = 0
    partitions: int = 0
    identical: int = 0
    stopped: int = 0

    def add(self, row: PartitionStatus, copied: tuple[int, int]) -> None:
        """Add a partition, with the records and bytes that this run copied."""
        self.records += copied[0]
        self.size += copied[1]
        self.lag += max(0, row.lag_records)
        self.partitions += 1
        self.identical += row.mode == "identical"
        self.stopped += row.stands_still


def by_topic(progress: RunProgress) -> dict[TopicName, TopicLine]:
    """Return the sum over the partitions of each topic."""
    lines: dict[TopicName, TopicLine] = defaultdict(TopicLine)
    for row in progress.rows:
        lines[row.topic].add(row, progress.copied(row))
    return dict(lines)


class Display:
    """Shows progress on stderr: a live table on a terminal, else a log of events.

    Besides events, the log has a line about the whole link every five minutes.
    """

    def __init__(self, link: str) -> None:
        self._link = link
        self._console = console(stderr=True)
        self._live = _live(self._console) if sys.stderr.isatty() else None
        self._seen: deque[tuple[float, dict[TopicName, TopicLine]]] = deque()
        self._rows: tuple[PartitionStatus, ...] = ()
        self._lines: dict[TopicName, TopicLine] = {}
        self._said = 0.0
        self._trouble = ""
        self._left_out: tuple[str, ...] = ()
        self._files: tuple[str, ...] = ()
        self._slots = 0

    def __enter__(self) -> Display:
        if self._live is not None:
            self._live.start()
        else:
            log.begin()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, progress: RunProgress) -> None:
        """Show the current progress."""
        now = time.monotonic()
        lines = self._sums(progress)
        self._seen.append((now, lines))
        while len(self._seen) > 2 and now - self._seen[0][0] > _WINDOW:
            self._seen.popleft()
        if self._live is not None:
            self._live.update(self._picture(progress, lines), refresh=True)
            return
        if now - self._said > _LINE_EVERY or progress.trouble != self._trouble:
            self._said, self._trouble = now, progress.trouble
            self._console.print(self._line(progress, lines))
        left_out = progress.topics.left_out
        if left_out != self._left_out:
            self._say(_named("left out", left_out) or ["no topic is left out any more"])
        if progress.files != self._files:
            self._say([*progress.files] or ["all files of secrets are usable again"])
        if self._slots not in {0, progress.slots}:
            self._say([f"Spark runs {progress.slots} slices at a time now, not {self._slots}"])
        self._left_out, self._files = left_out, progress.files
        self._slots = progress.slots

    def _sums(self, progress: RunProgress) -> dict[TopicName, TopicLine]:
        """Return the sums by topic, added up anew only if the rows are other ones."""
        if progress.rows is not self._rows:
            self._rows, self._lines = progress.rows, by_topic(progress)
        return self._lines

    def _say(self, lines: list[str]) -> None:
        if lines:
            self._console.print(*lines, sep="\n", soft_wrap=True, markup=False)

    def _rate(self, topic: TopicName, line: TopicLine) -> tuple[float, float]:
        """Return records and bytes per second over the last seconds."""
        then, before = self._seen[0]
        passed = self._seen[-1][0] - then
        old = before.get(topic, TopicLine())
        if passed <= 0:
            return 0.0, 0.0
        return (line.records - old.records) / passed, (line.size - old.size) / passed

    def _picture(self, progress: RunProgress, lines: dict[TopicName, TopicLine]) -> RenderableType:
        age, slots = span(self._age(progress)), f"slices {progress.slots}"
        head = Text(f"{self._link}  round {progress.round + 1}  {slots}  {age}")
        rows = [self._row(topic, line) for topic, line in lines.items()]
        shown = table(_HEADERS, rows, right=_HEADERS[1:])
        trouble = [Text(progress.trouble, style="red")] if progress.trouble else []
        told = [
            *_named("left out", progress.topics.left_out, _NAMED),
            *_named("stopped", _stopped(progress), _NAMED),
            *progress.files,
            *([progress.takeover] if progress.takeover else []),
        ]
        return Group(head, shown, *(Text(line, style="yellow") for line in told), *trouble)

    def _row(self, topic: TopicName, line: TopicLine) -> tuple[str, ...]:
        records, speed = self._rate(topic, line)
        return (
            topic,
            count(line.records),
            size(line.size),
            f"{records:,.0f}",
            f"{speed / 1e6:,.1f}",
            count(line.lag),
            span(line.lag / records) if line.lag and records else "-",
            f"{line.identical}/{line.partitions}",
            str(line.stopped or ""),
        )

    def _line(self, progress: RunProgress, lines: dict[TopicName, TopicLine]) -> str:
        records = sum(line.records for line in lines.values())
        copied = sum(line.size for line in lines.values())
        lag = sum(line.lag for line in lines.values())
        text = (
            f"{self._link}: {span(self._age(progress))}, {count(records)} records,"
            f" {size(copied)}, lag {count(lag)} in {len(lines)} topics"
        )
        if progress.topics.topics:
            text += f", {len(progress.topics.topics)} left out"
        return f"{text}; {progress.trouble}" if progress.trouble else text

    @staticmethod
    def _age(progress: RunProgress) -> float:
        return time.monotonic() - progress.began


def _live(console: Console) -> Live:
    """Return a live display that does not replace `sys.stderr`.

    Else it would put back the one that it found, which may be that of the time while Spark starts
    (`engine.session`) and closed by then.
    """
    return Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False)


def _stopped(progress: RunProgress) -> tuple[str, ...]:
    """Return a sentence for each partition that is no longer copied."""
    return tuple(row.named(row.error) for row in progress.rows if row.stands_still)


def _named(how: str, sentences: Sequence[str], most: int | None = None) -> list[str]:
    """Return sentences about what is left out or stopped; at most `most` of them in full."""
    told = [f"{how}: {sentence}" for sentence in sentences[:most]]
    more = len(sentences) - len(told)
    return [*told, f"and {more} more"] if more > 0 else told
