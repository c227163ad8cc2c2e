"""Where leader epochs began in what was read. Pure."""

from __future__ import annotations

import numpy as np

from towpath.records.epochs import EpochStarts
from towpath.wire import batch as wire


def table(*batches: tuple[int, int]) -> wire.Table:
    """Return batches of ten records: leader epoch and base offset."""
    made = np.zeros((len(batches), wire.COLUMNS), np.int64)
    for row, (epoch, base) in zip(made, batches, strict=True):
        row[wire.LEADER_EPOCH], row[wire.BASE], row[wire.LAST] = epoch, base, base + 9
    return made


def test_a_later_epoch_began_where_its_first_batch_was_seen() -> None:
    one = EpochStarts()
    assert one.after(-1, 7) == 7
    one.saw(table((3, 10), (3, 20), (5, 30), (6, 40)))
    one.saw(table((6, 50)))
    found = [one.after(epoch, 60) for epoch in range(2, 7)]
    assert found == [10, 30, 30, 40, 60]


def test_what_is_read_again_changes_nothing() -> None:
    one = EpochStarts()
    for _ in range(2):
        one.saw(table((3, 10), (5, 30), (6, 40)))
    one.saw(table((5, 30), (6, 40)))
    assert [one.after(epoch, 60) for epoch in (2, 3, 5, 6)] == [10, 30, 40, 60]


def test_another_log_takes_the_place_of_what_was_cut() -> None:
    one = EpochStarts()
    one.saw(table((3, 10), (5, 30), (6, 40)))
    one.saw(table((3, 30), (7, 50)))
    assert [one.after(epoch, 60) for epoch in (2, 3, 7)] == [10, 50, 60]
    one.forget()
    assert one.after(0, 60) == 60


def test_batches_without_epochs_say_nothing_and_few_changes_are_kept() -> None:
    one = EpochStarts()
    one.saw(table((-1, 0), (-1, 10)))
    assert one.after(-1, 20) == 20
    for epoch in range(500):
        one.saw(table((epoch, 100 + 10 * epoch)))
    assert one.after(498, 0) == 100 + 4990
    assert one.after(0, 0) == 100 + 4000
