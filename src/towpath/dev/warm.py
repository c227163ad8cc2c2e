"""Warm-up of caches for the first run: `python -m towpath.dev.warm`.

Compiles the loops over record bytes, and lets a JVM write the archive of Spark's
classes (docs/decisions/0007).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from towpath.engine import classes
from towpath.engine.rounds import Job, Rounds
from towpath.engine.session import session, stop_and_wait
from towpath.wire import loops


def main() -> None:
    """Warm up the caches; finished parts are skipped."""
    loops.compile_all()
    if not classes.archive().present:
        _write_archive()


def _write_archive() -> None:
    spark = session("local[1]", "towpath warm", credentials=False)
    rounds = Rounds(
        spark,
        Job(_plan, "towpath.dev.warm:work", "slice long", once=True),
        lambda _number, _rows: None,
    )
    while not rounds.wait(1):
        pass
    rounds.stop()
    stop_and_wait(spark)
    classes.archive().settle(0.0)


def _plan(number: int) -> Sequence[int]:
    return [number]


def work(number: int) -> Iterator[pa.RecordBatch]:
    """Run an empty slice, which does nothing."""
    yield pa.RecordBatch.from_pydict({"slice": [number]})


if __name__ == "__main__":
    main()
