"""Topics of a run: their totals, their rates, and the most important ones. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from towpath.mirror.run.progress import RunProgress
from towpath.mirror.show.states import WORST_FIRST
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.mirror.status.totals import bytes_behind
from towpath.model.amounts import time_left
from towpath.model.nouns import TopicName

_WINDOW = 10.0
"""Seconds over which rates are taken."""


@dataclass(slots=True)
class TopicLine:
    """Totals over the partitions of one topic, or of all topics."""

    records: int = 0
    size: int = 0
    lag: int = 0
    behind: float = 0.0
    """The bytes of the lag, an estimate."""
    identical: int = 0
    states: Counter[State] = field(default_factory=Counter)

    def add(self, row: PartitionStatus, copied: tuple[int, int]) -> None:
        """Add a partition, with the records and bytes that this run copied."""
        self.records += copied[0]
        self.size += copied[1]
        self.lag += row.to_copy
        self.behind += bytes_behind(row)
        self.identical += row.mode == "identical"
        self.states[row.state] += 1

    @property
    def partitions(self) -> int:
        """Number of partitions."""
        return self.states.total()

    @property
    def state(self) -> State:
        """The worst state among the partitions."""
        return next((state for state in WORST_FIRST if self.states[state]), State.CAUGHT_UP)


@dataclass(frozen=True, slots=True)
class TopicLines:
    """The topics of a run, added up once for all pictures of the same rows.

    Attributes:
        topics: The topics: those in trouble first, then by lag, then by name.
        all: All topics together.
        states: The worst state of each topic, in the same order.
        troubled: The partitions that stand still.
    """

    topics: Mapping[TopicName, TopicLine]
    all: TopicLine
    states: Sequence[State]
    troubled: Sequence[PartitionStatus]

    @classmethod
    def of(cls, progress: RunProgress) -> TopicLines:
        """Add up the partitions of a run."""
        topics: dict[TopicName, TopicLine] = defaultdict(TopicLine)
        every = TopicLine()
        for row in progress.rows:
            copied = progress.copied(row)
            topics[row.topic].add(row, copied)
            every.add(row, copied)
        ordered = dict(sorted(topics.items(), key=_urgency))
        states = [line.state for line in ordered.values()]
        return cls(ordered, every, states, [row for row in progress.rows if row.stands_still])


def _urgency(item: tuple[TopicName, TopicLine]) -> tuple[bool, bool, int, str]:
    name, line = item
    return not line.states[State.STOPPED], not line.states[State.NO_LEADER], -line.lag, name


@dataclass(frozen=True, slots=True)
class Rate:
    """A rate of copying: records and bytes per second, and the remaining time.

    Attributes:
        records: Records per second.
        size: Bytes per second.
        left: Seconds until the lag is 0, if it goes on to fall as it does now; `None` if it does
            not fall, or is 0.
    """

    records: float = 0.0
    size: float = 0.0
    left: float | None = None


class Rates:
    """Rates over the last ten seconds."""

    def __init__(self) -> None:
        self._seen: deque[tuple[float, TopicLines]] = deque()

    def take(self, now: float, lines: TopicLines) -> None:
        """Record totals, if they are new.

        Args:
            now: The present time, in seconds of any clock.
            lines: The sums.
        """
        if not self._seen or self._seen[-1][1] is not lines:
            self._seen.append((now, lines))
        while len(self._seen) > 2 and now - self._seen[1][0] > _WINDOW:
            self._seen.popleft()

    def of(self, now: float, topic: TopicName | None = None) -> Rate:
        """Return the rate of a topic, or of all topics together."""
        if len(self._seen) < 2:
            return Rate()
        then, before = self._seen[0]
        old, new = (_line(lines, topic) for lines in (before, self._seen[-1][1]))
        passed = max(now - then, 0.001)
        fell = (old.lag - new.lag) / passed
        return Rate(
            max(0.0, new.records - old.records) / passed,
            max(0.0, new.size - old.size) / passed,
            time_left(new.lag, fell),
        )


def _line(lines: TopicLines, topic: TopicName | None) -> TopicLine:
    return lines.all if topic is None else lines.topics.get(topic, TopicLine())
