"""The display of query results: a table, JSON, JSON lines or CSV."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime
from typing import Any

import pyarrow as pa
from rich.console import Group, RenderableType

from towpath.archive.read.query.query import QueryAnswer
from towpath.archive.show.reading_shapes import QueryRowsJson
from towpath.cli.show.grid import Grid
from towpath.cli.show.output import RowsForm, line, show
from towpath.model.amounts import counted
from towpath.runtime.clock import readable

_MORE = "there are more rows; --limit shows more of them"
_WIDE = 200
"""Characters of a value that a table shows."""


def show_rows(answer: QueryAnswer, form: RowsForm) -> None:
    """Print the rows of a query; notes go to stderr if programs read the rows."""
    match form:
        case RowsForm.TEXT | RowsForm.JSON:
            show(rows_picture(answer), rows_data(answer))
        case RowsForm.JSONL:
            sys.stdout.writelines(f"{each}\n" for each in rows_lines(answer.rows))
        case RowsForm.CSV:
            sys.stdout.write(rows_csv(answer.rows))
    if form in {RowsForm.JSONL, RowsForm.CSV}:
        sys.stderr.write(f"{_answered(answer)}\n")
        if answer.more:
            sys.stderr.write(f"{_MORE}\n")


def rows_picture(answer: QueryAnswer) -> RenderableType:
    """Return the rows of a query as a table, for people."""
    rows = answer.rows
    numbers = {
        field.name
        for field in rows.schema
        if pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
    }
    names = rows.column_names
    table = Grid(names, [tuple(map(_cell, row)) for row in _lines(rows)], right=numbers)
    told = [
        f"{counted(len(rows), 'row')}, as of version {answer.version} of {readable(answer.time)};"
        f" {_answered(answer)}"
    ]
    if answer.more:
        told.append(_MORE)
    return Group(table, *map(line, told))


def rows_data(answer: QueryAnswer) -> QueryRowsJson:
    """Return the rows of a query, for programs."""
    names = answer.rows.column_names
    return {
        "version": answer.version,
        "time": answer.time,
        "engine": answer.engine,
        "more": answer.more,
        "columns": names,
        "rows": [dict(zip(names, row, strict=True)) for row in _lines(answer.rows)],
    }


def rows_lines(rows: pa.Table) -> Iterator[str]:
    """Yield a JSON object for each row."""
    for row in _lines(rows):
        yield json.dumps(dict(zip(rows.column_names, row, strict=True)), ensure_ascii=False)


def rows_csv(rows: pa.Table) -> str:
    """Return rows as CSV with a header; null is an empty field, an empty text is quoted."""
    told = [rows.column_names, *map(_flat, _lines(rows))]
    return "".join(",".join(map(_quoted, row)) + "\n" for row in told)


def _answered(answer: QueryAnswer) -> str:
    return f"{answer.engine.named} answered"


def _lines(rows: pa.Table) -> Iterator[tuple[Any, ...]]:
    """Yield rows as values of JSON."""
    columns = [column.to_pylist() for column in rows.columns]
    for row in zip(*columns, strict=True):
        yield tuple(map(json_value, row))


def json_value(value: Any) -> Any:
    """Convert a value for JSON: bytes become text if they are UTF-8, else `0x` and hex digits."""
    match value:
        case None | bool() | int() | float() | str():
            told: Any = value
        case bytes():
            told = _text(value)
        case dict():
            told = {str(key): json_value(each) for key, each in value.items()}
        case list() | tuple():
            told = [json_value(each) for each in value]
        case datetime() if value.tzinfo is not None:
            told = value.astimezone(UTC).isoformat().replace("+00:00", "Z")
        case date():
            told = value.isoformat()
        case _:
            told = str(value)
    return told


def _text(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return f"0x{value.hex()}"


def _flat(row: Sequence[Any]) -> list[Any]:
    return [json.dumps(each) if isinstance(each, dict | list) else each for each in row]


def _quoted(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return '"' + str(value).replace('"', '""') + '"'


def _cell(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _WIDE else f"{text[: _WIDE - 1]}…"
