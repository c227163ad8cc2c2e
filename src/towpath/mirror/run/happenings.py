"""Events about a run and its partitions, written to the topic of events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

from towpath.ledger.event_log import EventLog
from towpath.ledger.events import What
from towpath.mirror.status.partition_status import PartitionStatus, State
from towpath.model.errors import TowpathError
from towpath.model.nouns import TopicPartition
from towpath.model.reasons import as_data


@contextmanager
def recording_run(events: EventLog, run_id: str, *, until_caught_up: bool) -> Iterator[None]:
    """Write an event at the start and the end of a run, with the error that ended the run."""
    events.tell(What.RUN_STARTED, run_id=run_id, until_caught_up=until_caught_up)
    try:
        yield
    except BaseException as error:
        code = error.code if isinstance(error, TowpathError) else type(error).__name__
        events.tell(What.RUN_ENDED, run_id=run_id, error=code)
        raise
    events.tell(What.RUN_ENDED, run_id=run_id, error="")


@dataclass(frozen=True, slots=True)
class _Seen:
    state: str
    mode: str
    incarnation: int
    gaps: frozenset[tuple[int, int]]


class Partitions:
    """Writes an event when the state of a partition changes between two looks.

    Lag and the election of a leader are no changes of state.
    """

    def __init__(self, events: EventLog) -> None:
        self._events = events
        self._seen: dict[TopicPartition, _Seen] | None = None

    def look(self, rows: Iterable[PartitionStatus]) -> None:
        """Compare with the last look; after the first look, only stopped partitions have events."""
        before, now = self._seen, {}
        for row in rows:
            last = before.get(row.tp) if before is not None else None
            now[row.tp] = _seen(row, last)
            told = before is not None or row.state is State.STOPPED
            if told and now[row.tp] != last:
                self._tell(row, last, now[row.tp])
        self._seen = now

    def _tell(self, row: PartitionStatus, last: _Seen | None, now: _Seen) -> None:
        gaps = last.gaps if last is not None else frozenset()
        if last is None or last != replace(now, gaps=last.gaps):
            self._events.tell(
                What.PARTITION_STATE,
                str(row.tp),
                state=now.state,
                mode=now.mode,
                before=last.state if last is not None else "",
                producer_id=now.incarnation,
                why=row.error or str(row.pause or "") or row.reason,
                codes=list(row.codes),
            )
        for gap in row.gaps:
            if (gap.producer_id, gap.first) not in gaps:
                self._events.tell(
                    What.PARTITION_GAP,
                    str(row.tp),
                    first=gap.first,
                    end=gap.end,
                    why=as_data(gap.why),
                    went_on=gap.went_on,
                )


def _seen(row: PartitionStatus, last: _Seen | None) -> _Seen:
    state = str(row.state)
    if row.state is State.NO_LEADER:
        state = last.state if last is not None else ""
    elif row.state in {State.BEHIND, State.CAUGHT_UP}:
        state = "copied"
    gaps = frozenset((gap.producer_id, gap.first) for gap in row.gaps)
    return _Seen(state, row.mode, row.producer_id, gaps)
