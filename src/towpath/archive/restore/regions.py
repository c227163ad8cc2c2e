"""Parallel restores of several regions in one process, independent of each other."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from towpath.archive.errors import NoArchiveError
from towpath.archive.restore.groups import GivenPositions
from towpath.archive.restore.progress import RestorePhase, RestoreProgress
from towpath.archive.restore.run import run
from towpath.archive.restore.several import Beside
from towpath.archive.restore.task import RestoreTask
from towpath.archive.restore.waking import Bell, Notified, Waker
from towpath.engine.starting import Starting
from towpath.model.errors import (
    SparkLostError,
    SparkStartError,
    SparkUnencryptedError,
    StoreAwayError,
    TowpathError,
)
from towpath.runtime.backoff import BackOff
from towpath.store.patience import AGAIN as STORE_AGAIN

_AGAIN = BackOff(first=2.0, longest=60.0)
_GOOD = 60.0
"""Seconds after which a restore that fails counts as one that had gone well."""
_LOOK = 0.5
_FATAL = (SparkLostError, SparkStartError, SparkUnencryptedError)
"""Errors that end all restores of the process."""
Show = Callable[[RestoreProgress], None]


def run_all(
    tasks: Sequence[RestoreTask],
    spark: Starting,
    stop: threading.Event,
    show: Show,
    parallelism: int | None = None,
) -> RestoreProgress:
    """Restore the archives of one or several regions.

    One that fails is tried again if it follows its archive, else it is named; the others go on. An
    error of a single one that never began is raised.

    Args:
        tasks: The restores.
        spark: The Spark session, which is still starting.
        stop: Set to stop early.
        show: Shows the progress of all together.
        parallelism: How many slices run at a time.

    Raises:
        TowpathError: As `restore.run.run` raises it.
    """
    if len(tasks) == 1 and not tasks[0].follow:
        return run(tasks[0], spark, stop, show, parallelism)
    whole = Whole(show, len(tasks))
    beside = Beside(len(tasks))
    regions = [_Region(each, spark, stop, whole, parallelism, beside) for each in tasks]
    with waking(tasks[0], regions, whole):
        for each in regions:
            each.start()
        while any(each.is_alive() for each in regions):
            if any(each.fault is not None for each in regions):
                stop.set()  # nothing can go on
            time.sleep(_LOOK)
    for each in regions:
        if each.fault is not None:
            raise each.fault
    return whole.progress


@contextmanager
def waking(task: RestoreTask, regions: Sequence[_Region], whole: Whole) -> Iterator[None]:
    """Wake the restores when the configured queue announces new objects."""
    notify = task.rules.notify
    if notify is None or not task.follow:
        yield
        return
    waker = Waker(notify.beside(task.store), [each.bell for each in regions], whole.hear)
    whole.hear(waker.told)  # counters begin at 0, before the first message
    waker.start()
    try:
        yield
    finally:
        waker.close()


class Whole:
    """The combined progress of several restores."""

    def __init__(self, show: Show, asked: int) -> None:
        self.progress = RestoreProgress(asked=asked)
        self._show, self._lock = show, threading.Lock()
        self._parts: dict[str, RestoreProgress] = {}

    def take(self, name: str, progress: RestoreProgress) -> None:
        """Record the progress of one restore."""
        with self._lock:
            self._parts[name] = progress
            self._join()
            self._show(self.progress)

    def hear(self, notified: Notified) -> None:
        """Record the counts of the notification queue."""
        with self._lock:
            self.progress.notified = notified
            self._show(self.progress)

    def _join(self) -> None:
        parts, whole = self._parts, self.progress
        phases = [each.phase for each in parts.values()]
        is_moving = RestorePhase.RESTORING in phases
        whole.phase = RestorePhase.RESTORING if is_moving else phases[0]
        whole.following = any(each.following for each in parts.values())
        whole.archives = tuple(told for each in parts.values() for told in each.archives)
        whole.heard = tuple(heard for each in parts.values() for heard in each.heard)
        whole.proofs = tuple(
            replace(proof, source=name) for name, each in parts.items() for proof in each.proofs
        )
        whole.unproven = "; ".join(_named(parts, lambda each: (each.unproven,)))
        whole.compared = _added(each.compared for each in parts.values())
        groups = [each.groups for each in parts.values()]
        whole.groups = GivenPositions(
            groups=tuple(group for each in groups for group in each.groups),
            beyond=sum(each.beyond for each in groups),
        )
        whole.left_out = _named(parts, lambda each: each.left_out)
        whole.schemas = _named(parts, lambda each: each.schemas)
        whole.notes = _named(parts, lambda each: each.notes)
        whole.trouble = "; ".join(_named(parts, lambda each: (each.trouble,)))
        whole.trouble_codes = tuple(code for each in parts.values() for code in each.trouble_codes)
        whole.takeover = "; ".join(_named(parts, lambda each: (each.takeover,)))
        whole.take([replace(row, source=name) for name, each in parts.items() for row in each.rows])


def _added(numbers: Iterable[tuple[int, int]]) -> tuple[int, int]:
    found = [*numbers]
    return sum(each for each, _ in found), sum(each for _, each in found)


def _named(
    parts: dict[str, RestoreProgress], texts: Callable[[RestoreProgress], Sequence[str]]
) -> tuple[str, ...]:
    """Return texts of all restores, with the name of each if there are several."""
    return tuple(
        f"{name}: {text}" if name else text
        for name, each in parts.items()
        for text in texts(each)
        if text
    )


class _Region(threading.Thread):
    """The restore of one region, in a thread of its own.

    Attributes:
        fault: The error that ends all of them.
        bell: Rings when objects of its archive have arrived.
    """

    def __init__(
        self,
        task: RestoreTask,
        spark: Starting,
        stop: threading.Event,
        whole: Whole,
        parallelism: int | None,
        beside: Beside,
    ) -> None:
        super().__init__(name=f"towpath-{task.name}", daemon=True)
        self._task, self._spark, self._stop_asked, self._whole = task, spark, stop, whole
        self._parallelism, self._beside = parallelism, beside
        self._progress = RestoreProgress(following=task.follow)
        self._failed: RestoreProgress | None = None
        self._begun = False
        self.bell = Bell(task.store, task.region)
        self.fault: BaseException | None = None

    def run(self) -> None:
        """Restore until complete, or until stopped."""
        failures = 0
        while not self._stop_asked.is_set():
            began = time.monotonic()
            error = self._once()
            if error is None or self._is_final(error):
                return  # all is restored, the user asked to stop, or it cannot go on
            failures = 1 if time.monotonic() - began > _GOOD else failures + 1
            self._fail(error)
            pauses = STORE_AGAIN if isinstance(error, StoreAwayError) else _AGAIN
            self._stop_asked.wait(pauses.after(failures))

    def _once(self) -> TowpathError | None:
        """Restore once; return the error that ended it."""
        task = self._task
        try:
            run(
                task,
                self._spark,
                self._stop_asked,
                self._show,
                self._parallelism,
                self._beside,
                self.bell,
            )
        except _FATAL as error:
            self.fault = error
        except TowpathError as error:
            return error
        except BaseException as error:  # noqa: BLE001  # raised again by `run_all`
            self.fault = error
        return None

    def _is_final(self, error: TowpathError) -> bool:
        """Whether an error ends this restore; a single one that never began raises it."""
        waits = self._task.follow and (self._begun or isinstance(error, NoArchiveError))
        if self._beside.count == 1 and not waits:
            self.fault = error
            return True
        if not self._task.follow:
            self._fail(error)
        return not self._task.follow

    def _fail(self, error: TowpathError) -> None:
        if self._failed is None or self._progress.rows:
            self._failed = self._progress
        self._failed.take_trouble(str(error), error.reason.codes)
        self._whole.take(self._task.source, self._failed)

    def _show(self, progress: RestoreProgress) -> None:
        """Show the progress; that of the attempt that failed until another one restores."""
        self._progress = progress
        if progress.phase is RestorePhase.RESTORING:
            self._begun, self._failed = True, None
        self._whole.take(self._task.source, self._failed or progress)
