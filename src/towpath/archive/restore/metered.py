"""Prometheus metrics and archive events of a running restore."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from towpath import __version__
from towpath.archive.log.events import ArchiveEvents, ArchiveWhat
from towpath.archive.metrics.restore_measure import AboutRestore, measured
from towpath.archive.metrics.restore_meter import (
    QueueCounts,
    RestoreCounts,
    RestoreMeter,
    RestoreStand,
)
from towpath.archive.restore.log_watch import HeardState
from towpath.archive.restore.progress import PartState, RestoreProgress, RestoreRow
from towpath.archive.restore.task import RestoreTask
from towpath.archive.restore.waking import Notified
from towpath.metering.serving import served
from towpath.model.errors import TowpathError
from towpath.runtime.clock import now_ms
from towpath.settings import StoreLayout
from towpath.store import Store

Show = Callable[[RestoreProgress], None]


@contextmanager
def telling_restore(name: str, tasks: Sequence[RestoreTask], show: Show) -> Iterator[Show]:
    """Return a progress callback that also serves Prometheus, if the file configures metrics.

    Args:
        name: The name of the restore.
        tasks: The restores of its regions.
        show: Shows the progress.

    Raises:
        ConfigError: The address of `metrics.listen` cannot be listened on.
    """
    config, regions = tasks[0].metrics, {each.source: each.region for each in tasks}
    if config.address is None:
        yield show
        return
    meter = RestoreMeter()
    about = AboutRestore(__version__, name, config.detail, tuple(PartState))

    def shown(progress: RestoreProgress) -> None:
        meter.tell(reading(progress, regions))
        show(progress)

    with served(config.address, meter, lambda: measured(meter, about), root=config.root_path):
        yield shown


def reading(progress: RestoreProgress, regions: Mapping[str, str]) -> RestoreCounts:
    """Return the current counts of a restore.

    Args:
        progress: What the restore shows.
        regions: The region of each source, by its name.
    """
    is_heard = all(each.state is HeardState.FOLLOWED for each in progress.heard)
    queue = progress.notified
    return RestoreCounts(
        stands=tuple(_stand(each, regions[each.source]) for each in progress.rows),
        bytes=progress.all_bytes,
        done_bytes=progress.done_bytes,
        rate=progress.rate,
        seconds_left=progress.seconds_left,
        left_out=len(progress.left_out),
        trouble=bool(progress.trouble) or not is_heard,
        unread=frozenset(_unread(progress)),
        queue=_counts(queue) if queue is not None else None,
    )


def _counts(queue: Notified) -> QueueCounts:
    return QueueCounts(
        received=queue.messages,
        invalid=queue.poison,
        failed=queue.failed,
        errors=queue.errors,
        lag=queue.lag,
    )


_OF_TARGET, _OF_STORE = ("CLUSTER", "TARGET"), "STORE"
"""What the codes of errors of the target and of the store begin with."""


def _unread(progress: RestoreProgress) -> Iterator[str]:
    """Yield names of what an error of the store holds up."""
    held = [(each.named, each.codes if each.error else ()) for each in progress.rows]
    heard = [(f"archive of {each.region}", each.codes) for each in progress.heard]
    for name, codes in (*held, *heard, ("the restore", progress.trouble_codes)):
        if any(code.startswith(_OF_STORE) for code in codes):
            yield name


def _stand(row: RestoreRow, region: str) -> RestoreStand:
    segments, lag = row.part.segments, 0.0
    waiting = 0 if row.done else segments.waiting(row.at)
    if waiting and (written := segments.oldest(row.at)) is not None:
        lag = max(0.0, (now_ms() - written) / 1000)
    return RestoreStand(
        region=region,
        source=row.source,
        topic=row.tp.topic,
        partition=row.tp.partition,
        state=row.state,
        restored_to=row.at,
        end=row.part.end,
        late=row.state is PartState.LATE,
        refused=bool(row.error) and any(each.startswith(_OF_TARGET) for each in row.codes),
        lost=sum(gap.end - gap.first for gap in row.gaps),
        gaps=len(row.gaps),
        records=row.records,
        segments=len(segments.ends) - waiting,
        waiting=waiting if segments.ends else None,
        lag=lag,
    )


@contextmanager
def recording_restore(name: str, tasks: Sequence[RestoreTask], show: Show) -> Iterator[Show]:
    """Write an event to the store at the start and the end of a restore.

    A login that may not write there writes none, and none goes among the files of a broker; the
    target's topic of events has them anyway.

    Args:
        name: The name of the restore.
        tasks: The restores of its regions; the events are in the archive of the first one.
        show: Shows the progress.
    """
    task = tasks[0]
    last: list[RestoreProgress] = []

    def shown(progress: RestoreProgress) -> None:
        last[:] = [progress]
        show(progress)

    if task.store.layout is not StoreLayout.ARCHIVE:
        yield show
        return
    told = {"restore": name, "target": ",".join(task.target.bootstrap)}
    with (
        Store(task.store) as store,
        ArchiveEvents(store, task.region, task.archive, task.target.login) as events,
    ):
        events.tell(ArchiveWhat.RESTORE_STARTED, **told)
        try:
            yield shown
        except BaseException as error:
            code = error.code if isinstance(error, TowpathError) else type(error).__name__
            events.tell(ArchiveWhat.RESTORE_ENDED, **told, error=code, complete=False)
            raise
        complete = bool(last) and last[-1].complete
        events.tell(ArchiveWhat.RESTORE_ENDED, **told, error="", complete=complete)
