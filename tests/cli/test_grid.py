"""Tables of any width: whole numbers, whole texts, and nothing beyond the edge."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from towpath.cli.show.grid import Cell, Grid

HEADERS = ("topic", "target", "state", "lag")
ROWS: list[list[Cell]] = [
    ["orders", "eu.orders", Text("✗ stopped", "red"), "1,234,567"],
    ["payments.archive", "eu.payments.archive", "✓ caught up", "0"],
]
GRID = Grid(HEADERS, ROWS, right=["lag"], whole=["state"], spare=["target"])


def lines(grid: Grid, width: int) -> list[str]:
    console = Console(width=width, highlight=False, markup=False, color_system=None)
    with console.capture() as printed:
        console.print(grid)
    return printed.get().splitlines()


def test_a_wide_console_shows_all_columns() -> None:
    assert lines(GRID, 80) == [
        "topic              target                state               lag",
        "────────────────────────────────────────────────────────────────",
        "orders             eu.orders             ✗ stopped     1,234,567",
        "payments.archive   eu.payments.archive   ✓ caught up           0",
    ]


def test_columns_that_can_be_spared_go_first() -> None:
    assert lines(GRID, 50) == [
        "topic             state              lag",
        "────────────────────────────────────────",
        "orders            ✗ stopped    1,234,567",
        "payments.archive  ✓ caught up          0",
    ]


def test_then_texts_go_on_in_the_next_line() -> None:
    assert lines(GRID, 34) == [
        "topic       state              lag",
        "──────────────────────────────────",
        "orders      ✗ stopped    1,234,567",
        "payments.archive",
        "            ✓ caught up          0",
    ], "no name is cut"


def test_long_texts_move_below_their_row() -> None:
    rows = [
        ["create", "orders", "eu.orders", "8", "max.message.bytes=2097152 retention.ms=-1"],
        ["create", "payments", "eu.payments", "4", ""],
    ]
    headers = ("step", "topic", "on the target", "partitions", "configs")
    grid = Grid(headers, rows, right=["partitions"], below=["configs"])
    assert lines(grid, 60) == [
        "step    topic     on the target  partitions",
        "───────────────────────────────────────────",
        "create  orders    eu.orders               8",
        "    max.message.bytes=2097152 retention.ms=-1",
        "create  payments  eu.payments             4",
    ]
    assert lines(grid, 90)[2].endswith("8   max.message.bytes=2097152 retention.ms=-1")


TEXT = st.text("abc.-_ ", min_size=1, max_size=60)
NUMBER = st.integers(0, 10**9).map("{:,}".format)


@given(st.lists(st.tuples(TEXT, NUMBER, TEXT, NUMBER), max_size=5), st.integers(50, 120))
def test_nothing_is_lost_at_any_width(rows: list[tuple[str, str, str, str]], width: int) -> None:
    shown = lines(Grid(("a", "b", "c", "d"), rows, right=("b", "d")), width)
    assert all(len(line) <= width for line in shown)
    together = "\n".join(shown)
    assert all(number in together for row in rows for number in (row[1], row[3]))
    for char in "abc._":
        wanted = sum(cell.count(char) for row in rows for cell in row) + (char in "abc")
        assert together.count(char) == wanted
