"""Tables for any terminal width, without cutting numbers or losing characters."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.text import Text

from towpath.model.quoting import harmless

Cell = str | Text

_GAP, _NARROW_GAP = 3, 2
"""Spaces between two columns; fewer where the table would not fit otherwise."""
_INDENT = "    "
_LEAST = 8
"""Characters that a folded column keeps at least."""


class Grid:
    """A table that fits the console.

    Where the console is too narrow, the gaps shrink, then columns are left out in the order of
    `spare`, then the columns `below` move to lines of their own below each row, then texts go on in
    the next line; one with a word that is too long for its column, such as a name, gets a line of
    its own above the row. Numbers are never folded.

    Args:
        headers: The names of the columns.
        rows: One cell per column.
        right: The columns that hold numbers.
        whole: Other columns whose cells stay in one line.
        spare: Columns that may be left out, the first one first.
        below: Columns of long texts, the first one first.
    """

    def __init__(
        self,
        headers: Sequence[str],
        rows: Iterable[Sequence[Cell]],
        *,
        right: Collection[str] = (),
        whole: Collection[str] = (),
        spare: Sequence[str] = (),
        below: Sequence[str] = (),
    ) -> None:
        self._headers, self._right = headers, frozenset(right)
        self._whole = self._right | set(whole)
        self._spare = [list(headers).index(name) for name in spare if name in headers]
        self._below = [list(headers).index(name) for name in below if name in headers]
        self._rows = [[_text(cell) for cell in row] for row in rows]
        lengths = ([row[at].cell_len for row in self._rows] for at in range(len(headers)))
        self._widths = [
            max([len(header), *column]) for header, column in zip(headers, lengths, strict=True)
        ]

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        most = options.max_width
        shown, moved, gap = self._fitting(most)
        widths = self._folded(shown, gap, most)
        headers = [_text(self._headers[at]) for at in shown]
        yield from self._lines(console, headers, shown, widths, gap)
        yield Text("─" * (sum(widths) + gap * (len(widths) - 1)), no_wrap=True)
        for row in self._rows:
            cells = [row[at] for at in shown]
            for number, (cell, width) in enumerate(zip(cells, widths, strict=True)):
                if _longest_word(cell) > width:  # in its column, a name would be cut
                    yield from cell.wrap(console, most, overflow="fold")
                    cells[number] = Text()
            yield from self._lines(console, cells, shown, widths, gap)
            for part in (row[at] for at in moved if row[at]):
                wrapped = part.wrap(console, max(_LEAST, most - len(_INDENT)), overflow="fold")
                yield from (Text(_INDENT).append_text(line) for line in wrapped)

    def _fitting(self, most: int) -> tuple[list[int], list[int], int]:
        """Return the columns that are shown, those that move below, and the gap between columns."""
        shown = list(range(len(self._headers)))
        if self._total(shown, _GAP) <= most:
            return shown, [], _GAP
        moved = []
        for at in [*self._spare, *self._below]:
            if self._total(shown, _NARROW_GAP) <= most:
                break
            shown.remove(at)
            moved += [at] if at in self._below else []
        return shown, moved, _NARROW_GAP

    def _total(self, shown: Sequence[int], gap: int) -> int:
        return sum(self._widths[at] for at in shown) + gap * (len(shown) - 1)

    def _folded(self, shown: Sequence[int], gap: int, most: int) -> list[int]:
        """Return the widths, those of the widest texts lowered until all columns fit."""
        widths = {at: self._widths[at] for at in shown}
        texts = [at for at in shown if self._headers[at] not in self._whole]
        while (over := sum(widths.values()) + gap * (len(shown) - 1) - most) > 0:
            ordered = sorted((widths[at], at) for at in texts)
            if not ordered or ordered[-1][0] <= _LEAST:
                break
            widest, at = ordered[-1]
            next_widest = max([_LEAST, *(width for width, _ in ordered[:-1] if width < widest)])
            widths[at] = max(next_widest, widest - over)
        return [widths[at] for at in shown]

    def _lines(
        self, console: Console, row: Sequence[Text], shown: Sequence[int], widths: Sequence[int],
        gap: int,
    ) -> Iterator[Text]:  # fmt: skip
        cells = [
            [cell] if cell.cell_len <= width else list(cell.wrap(console, width, overflow="fold"))
            for cell, width in zip(row, widths, strict=True)
        ]
        for number in range(max(map(len, cells), default=0)):
            line = Text(no_wrap=True, overflow="ignore")
            for at, cell, width in zip(shown, cells, widths, strict=True):
                part = cell[number] if number < len(cell) else Text()
                space = " " * (width - part.cell_len)
                is_number = self._headers[at] in self._right
                line.append(space if is_number else "")
                line.append_text(part)
                line.append(("" if is_number else space) + " " * gap)
            line.rstrip()
            yield line


def _longest_word(text: Text) -> int:
    return max((cell_len(word) for word in text.plain.split()), default=0)


def _text(cell: Cell) -> Text:
    return cell if isinstance(cell, Text) else Text(harmless(cell).replace("\n", "\\n"))
