"""The number of tasks that Spark can run at once, as executors join and vanish."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from towpath.engine.here import Here

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOOK_AGAIN = 4.0
"""Seconds between two looks at the executors."""


SLOTS = "spark.towpath.slots"
"""The setting that tells how many slices to run on this machine, where Spark has more threads."""


class Slots:
    """Tracks the number of slices to plan for.

    A restarted executor is back within seconds, so a new number counts only after two looks in a
    row have found it.

    Args:
        count: Returns how many tasks Spark can run now, 0 while no executor is known.
        first: The initial number.
        most: Upper bound on the number.
        every: Seconds between two looks.
        here: Whether slices run on this machine.
        asks: Whether Spark asks for an executor wherever a slice has none.

    Attributes:
        number: Number of slices to plan.
    """

    def __init__(
        self,
        count: Callable[[], int],
        first: int,
        every: float = _LOOK_AGAIN,
        *,
        most: int = sys.maxsize,
        here: bool = False,
        asks: bool = False,
    ) -> None:
        self._count, self._every, self._most = count, every, most
        self.here, self.asks = here, asks
        self._found = self._places = self.number = first
        self._due = time.monotonic() + every

    @property
    def doubled(self) -> bool:
        """Whether the slices of two rounds can run at the same time.

        On this machine Spark has twice as many threads as there are slices (`engine/session.py`).
        """
        return self.here or (not self.asks and self._places >= 2 * self.number)

    def look(self) -> bool:
        """Check the number if a check is due; return whether it has changed permanently.

        Raises:
            RuntimeError: Spark did not answer; the text is Spark's.
            SparkLostError: The JVM is gone.
        """
        if time.monotonic() < self._due:
            return False
        self._places = self._count() or self.number
        before, self._found = self._found, min(self._most, self._places)
        self._due = time.monotonic() + self._every
        changed = self._found == before != self.number
        if changed:
            self.number = self._found
        return changed


def following(spark: SparkSession | Here, wished: int | None) -> Slots:
    """Return the slots of Spark or of the local engine, at most `wished`.

    On this machine their number never changes. Where Spark requests executors by itself
    (`spark.dynamicAllocation.enabled`), it does so for waiting tasks, so `wished` stays fixed.
    """
    if isinstance(spark, Here):
        here = slots(spark, wished)
        return Slots(lambda: here, here, here=True)
    context = spark.sparkContext
    asks = context.getConf().get("spark.dynamicAllocation.enabled", "false") == "true"
    first = slots(spark, wished)
    is_here = str(context.master).startswith("local")
    if is_here or (asks and wished is not None):
        return Slots(lambda: first, first, here=is_here, asks=asks)
    return Slots(lambda: _places(spark), first, asks=asks, most=wished or sys.maxsize)


def slots(spark: SparkSession | Here, wished: int | None = None) -> int:
    """Return the number of tasks to run at once: by default all that Spark can run.

    On a cluster, where executors may still come, `wished` holds until `Slots` has looked again.
    On this machine none will come, and a slice without a slot would wait until another ends.
    """
    if isinstance(spark, Here):
        return min(wished or spark.slots, spark.slots)
    context = spark.sparkContext
    known = int(context.getConf().get(SLOTS, "0") or 0) or max(1, context.defaultParallelism)
    if wished is None:
        return known
    return min(wished, known) if str(context.master).startswith("local") else wished


def _places(spark: SparkSession) -> int:
    """Return how many tasks the currently registered executors can run."""
    context = spark.sparkContext
    from towpath.engine.border import border  # noqa: PLC0415  # it imports PySpark

    each = int(context.getConf().get("spark.task.cpus", "1") or 1)
    with border():
        store = context._jsc.sc().statusStore()  # noqa: SLF001  # PySpark shows it nowhere else
        found = store.executorList(True).iterator()  # those that are active
        places = 0
        while found.hasNext():
            places += found.next().totalCores() // each
    return places
