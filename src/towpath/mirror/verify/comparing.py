"""The slices of a comparison: cut, compared on Spark, and joined by partition."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from towpath.compare import COMPARING
from towpath.compare.slice import SCHEMA, compare_rows
from towpath.compare.work import CompareSlice, Comparison
from towpath.engine.batch import run as run_slices
from towpath.engine.failure import of_spark
from towpath.engine.session import session
from towpath.engine.slots import slots
from towpath.ledger.books import LinkBooks
from towpath.mirror.verify.changes import changes_of
from towpath.mirror.verify.ranges import SLICE_BYTES, Sized, by_change, cut, pack, sample
from towpath.mirror.verify.scope import Scope
from towpath.model.nouns import TopicPartition
from towpath.settings import LinkConfig

_SMALLEST_SLICE = 16 << 20
_SLICES_PER_SLOT = 8


def compared(
    config: LinkConfig,
    scope: Scope,
    books: LinkBooks,
    wholes: list[Sized],
    on_done: Callable[[int, int], None],
    stop: threading.Event,
) -> dict[TopicPartition, Comparison]:
    """Compare ranges on Spark; return the result for each source partition.

    Args:
        config: The link.
        scope: What to compare, and where.
        books: What the ledger knows of the link, with runs.
        wholes: The ranges.
        on_done: Called with the number of slices done and the number of all slices.
        stop: Set to stop early.

    Raises:
        ClusterError: A cluster could not be reached, or refused us.
        LedgerError: It is not known how records were changed.
        SparkStartError: Spark did not start.
        TowpathError: Spark failed, or was stopped.
    """
    return joined(compare(config, scope, books, wholes, on_done, stop))


def compare(
    config: LinkConfig,
    scope: Scope,
    books: LinkBooks,
    wholes: list[Sized],
    on_done: Callable[[int, int], None],
    stop: threading.Event,
) -> list[Comparison]:
    """Compare ranges on Spark; return a result for each part of them, in any order.

    Arguments and errors are those of `compared`.
    """
    if not wholes:
        return []
    name, secret = f"towpath verify {config.link}", config.holds_credentials
    spark = session(
        scope.master,
        name,
        scope.parallelism,
        credentials=secret,
        works=COMPARING,
        packages=scope.packages,
    )
    slices = _slices(config, scope, books, wholes, slots(spark, scope.parallelism))
    try:
        rows = run_slices(spark, slices, compare_rows, SCHEMA, on_done, stop)
    except RuntimeError as error:
        raise of_spark(error) from error
    return [Comparison.from_json(text) for text in rows["comparison"].to_pylist()]


def _slices(
    config: LinkConfig, scope: Scope, books: LinkBooks, wholes: list[Sized], parallelism: int
) -> list[CompareSlice]:
    changes = changes_of(books, (whole.part.source for whole in wholes))
    wholes = [part for whole in wholes for part in by_change(whole, books.of(whole.part.source))]
    total = sum(whole.bytes for whole in wholes)
    size = min(SLICE_BYTES, max(_SMALLEST_SLICE, total // (_SLICES_PER_SLOT * parallelism)))
    if scope.sample is None:
        parts = [part for whole in wholes for part in cut(whole, size)]
    else:
        parts = [part for whole in wholes for part in sample(whole, scope.sample)]
    return [
        CompareSlice(config.source, config.target, ranges, ids=scope.ids, changes=changes)
        for ranges in pack(parts, size)
    ]


def joined(comparisons: Iterable[Comparison]) -> dict[TopicPartition, Comparison]:
    """Return one result for each source partition, of all ranges that were compared of it."""
    found: dict[TopicPartition, Comparison] = {}
    for each in sorted(comparisons, key=lambda c: (c.source, c.first)):
        before = found.get(each.source)
        found[each.source] = before.then(each) if before else each
    return found
