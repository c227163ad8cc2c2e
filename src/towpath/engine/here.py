"""The local engine: slices that run once, without Spark (docs/decisions/0087).

It takes the place of a Spark session where no `--master` is named, for commands whose work is
slices that run once (`engine/batch.py`): the same function does the work of a slice on both.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

import pyarrow as pa

from towpath.engine.failure import SliceFailedError
from towpath.engine.forks import Forks, text_of
from towpath.engine.processors import processors
from towpath.engine.starting import Starting
from towpath.model.errors import SparkLostError

T = TypeVar("T")
_ATTEMPTS = 4
"""Attempts at a slice, as many as Spark makes."""
_LOOK = 0.2
_TYPES = {
    "string": pa.string(),
    "int": pa.int32(),
    "boolean": pa.bool_(),
    "double": pa.float64(),
    "bigint": pa.int64(),
}


class Here:
    """Runs slices in processes of this machine.

    Args:
        forks: Forks them.
        slots: How many slices to plan; by default as many as there are processors.
        rounds: Of how many batches the slices run at the same time.

    Attributes:
        slots: How many slices to plan.
    """

    def __init__(self, forks: Forks, slots: int | None, rounds: int) -> None:
        self._forks = forks
        self.slots = slots or processors()
        self._most = self.slots * rounds
        self._places = threading.Semaphore(self._most)

    def run(
        self,
        slices: Sequence[T],
        work: Callable[[T], Iterator[pa.RecordBatch]],
        schema: str,
        on_done: Callable[[int, int], None],
        stop: threading.Event,
    ) -> pa.Table:
        """Run each slice in its own process, and return the rows of all.

        Raises:
            RuntimeError: A slice failed in all attempts, or was stopped.
            SparkLostError: The process that starts slices has ended.
        """
        over, done = threading.Event(), 0
        found: list[Future[list[pa.RecordBatch]]] = []
        with ThreadPoolExecutor(self._most, thread_name_prefix="towpath-slice") as pool:
            try:
                ends = stop, over
                found += [pool.submit(self._attempts, work, one, ends) for one in slices]
                left = set(found)
                while left:
                    ended, left = wait(left, return_when=FIRST_EXCEPTION, timeout=_LOOK)
                    for each in ended:
                        each.result()
                    if ended:
                        done += len(ended)
                        on_done(done, len(slices))
            finally:
                over.set()
        columns = pa.schema([_field(each) for each in schema.split(",")])
        rows = [batch.cast(columns) for each in found for batch in each.result()]
        return pa.Table.from_batches(rows, columns)

    def _attempts(
        self, work: Callable[[T], Any], one: T, ends: Sequence[threading.Event]
    ) -> list[pa.RecordBatch]:
        """Run a slice, again where it fails."""
        said: Any = None
        while not self._places.acquire(timeout=_LOOK):
            _require_wanted(ends)
        try:
            for number in range(_ATTEMPTS):
                is_well, said = self._attempt(work, one, number, ends)
                if is_well:
                    rows: list[pa.RecordBatch] = said
                    return rows
        finally:
            self._places.release()
        raise SliceFailedError(said)

    def _attempt(
        self, work: Callable[[T], Any], one: T, number: int, ends: Sequence[threading.Event]
    ) -> tuple[bool, Any]:
        """Return whether an attempt went well, and its rows, or the text of its error."""
        _require_wanted(ends)
        try:
            with self._forks.begin(work, one, number) as connection:
                while not connection.poll(_LOOK):
                    _require_wanted(ends)
                said: tuple[bool, Any] = connection.recv()
                return said
        except (EOFError, OSError):
            return False, text_of(SparkLostError("the process of a slice"))


class Begun(Starting):
    """The local engine behind the interface of a starting Spark session.

    Args:
        here: The engine.
    """

    def __init__(self, here: Here) -> None:
        self._known = threading.Event()
        self._known.set()
        self._answer: Future[Any] = Future()
        self._answer.set_result(here)


def _require_wanted(ends: Sequence[threading.Event]) -> None:
    """Make sure that nobody has stopped the slices.

    Raises:
        SliceFailedError: Somebody has.
    """
    if any(each.is_set() for each in ends):
        raise SliceFailedError("it was stopped")


def _field(ddl: str) -> pa.Field:
    name, kind = ddl.split()
    return pa.field(name, _TYPES[kind.lower()])
