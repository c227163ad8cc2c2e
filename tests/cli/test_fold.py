"""Remarks that are alike about many partitions are one line. Pure."""

from __future__ import annotations

from dataclasses import replace

from tests.support.ledger.standings import ROW
from towpath.cli.show.fold import folded, set_apart
from towpath.cli.show.output import console
from towpath.mirror.show.status_picture import picture


def test_many_remarks_that_are_alike_are_one_line() -> None:
    same = [(f"orders-{n}", "records are changed on their way (change abc)") for n in range(290)]
    assert folded(same) == [
        "orders-0, orders-1, orders-2 and 287 more: records are changed on their way (change abc)"
    ]


def test_numbers_and_the_own_name_make_no_difference() -> None:
    told = [(f"orders-{n}", f"orders-{n} lost {n + 1:,} records") for n in range(3, 8)]
    assert folded(told) == [
        "orders-3, orders-4, orders-5 and 2 more: orders-3 lost 4 records (this of"
        " orders-3; --output json has the numbers of each)"
    ]


def test_few_remarks_and_other_texts_stay_as_they_are() -> None:
    told = [("a-0", "one"), ("a-0", "two"), ("a-1", "one"), ("a-2", "one")]
    assert folded(told) == ["a-0: one", "a-0: two", "a-1: one", "a-2: one"]


def test_status_folds_what_is_alike() -> None:
    rows = [replace(ROW, partition=n, change="abc", tally=(("ids", n),)) for n in range(20)]
    shown = console()
    with shown.capture() as printed:
        shown.print(picture(rows))
    lines = [line for line in printed.get().splitlines() if "changed on their way" in line]
    assert len(lines) == 1, lines
    assert lines[0].startswith("orders-0, orders-1, orders-2 and 17 more: records are changed")


def test_many_reasons_of_a_table_that_are_alike_are_told_below_it() -> None:
    rows = [
        (f"t{n}-0", f"offsets {n} to 9 of t{n}-0: raise max.message.bytes of t{n}")
        for n in range(5)
    ]
    rest, lines = set_apart([*rows, ("u-0", ""), ("u-1", "alone"), *[("v-0", "")] * 5])
    assert rest == ["", "", "", "", "", "", "alone", "", "", "", "", ""]
    assert lines == [
        "t0-0, t1-0, t2-0 and 2 more: offsets 0 to 9 of t0-0: raise max.message.bytes of t0 (this"
        " of t0-0; --output json has the numbers of each)"
    ]
