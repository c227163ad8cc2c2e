"""The schedule for retrying stopped partitions."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.model.nouns import TopicPartition
from towpath.model.reasons import ReasonCode

_SELDOM = 600.0
"""Seconds after which all that stopped is tried again: somebody may have mended it."""
_SOON = 30.0
"""Seconds after which those are tried again that lacked an answer, as it may come by itself."""
_IDLE = {State.STOPPED, State.NOT_STARTED}
_UNANSWERED = {ReasonCode.SCHEMAS_UNSEEN, ReasonCode.SCHEMA_ID_UNANSWERED}


class Trying:
    """Selects the stopped partitions to retry, each kind on its own schedule."""

    def __init__(self) -> None:
        self._kinds = _Kind(_SELDOM, _is_idle), _Kind(_SOON, _lacks_an_answer)

    def due(self, rows: Iterable[PartitionStatus]) -> set[TopicPartition]:
        """Return the partitions whose retry is due."""
        rows = [*rows]
        return {tp for each in self._kinds for tp in each.due(rows)}


class _Kind:
    def __init__(self, every: float, which: Callable[[PartitionStatus], bool]) -> None:
        self._every, self._which = every, which
        self._next = time.monotonic() + every

    def due(self, rows: Iterable[PartitionStatus]) -> Iterator[TopicPartition]:
        now = time.monotonic()
        if now >= self._next:
            self._next = now + self._every
            yield from (row.tp for row in rows if self._which(row))


def _is_idle(row: PartitionStatus) -> bool:
    return row.state in _IDLE


def _lacks_an_answer(row: PartitionStatus) -> bool:
    return row.state is State.STOPPED and not _UNANSWERED.isdisjoint(row.codes)
