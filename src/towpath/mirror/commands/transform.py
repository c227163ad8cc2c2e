"""`towpath transform`: try the query that the records of a link go through."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType

from towpath.cli.on_spark import OnSpark, with_options
from towpath.cli.options import LinkFile
from towpath.cli.show.grid import Grid
from towpath.cli.show.output import Output, OutputOption, line, show
from towpath.mirror import TRANSFORMING
from towpath.mirror.show.transform_shapes import TransformTestJson
from towpath.mirror.transform.preview import Preview, preview
from towpath.model.amounts import counted
from towpath.model.errors import ConfigError
from towpath.settings import LinkConfig, load, problem_at

transform = typer.Typer(
    help="Try the query that the records of a link go through.", no_args_is_help=True
)
_LIMIT = 20
_WIDEST = 40
_RIGHT = ("partition", "offset", "timestampType")


@transform.command("test")
@with_options
def try_query(
    file: LinkFile,
    *,
    limit: Annotated[
        int, typer.Option(min=1, max=10_000, help="The most records to read: the latest ones.")
    ] = _LIMIT,
    on: OnSpark,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show the latest records, and what the query makes of them, without writing anything."""
    del output  # `show` reads it from the arguments
    config = _config(file)
    spark = on.start(config.link, TRANSFORMING, credentials=config.holds_credentials)
    spark.require_allowed()
    found = preview(config, file, spark.result(), limit)
    data: TransformTestJson = {
        "link": config.link,
        "read": len(found.before),
        "written": len(found.after),
        "before": [dict(row) for row in found.before],
        "after": [
            {"target_topic": tp.topic, "target_partition": tp.partition, **row}
            for tp, row in zip(found.places, found.after, strict=True)
        ],
        "notes": [*found.notes],
    }
    show(_picture(found), data)
    on.tell(data)
    return 0


def _config(file: Path) -> LinkConfig:
    config = load(file, transforms=True)
    if config.transforms is None:
        text = "is missing: records of this link are copied as they are (docs/howto/transform.md)"
        raise ConfigError((problem_at(file, ("transform",), text),))
    return config


def _picture(found: Preview) -> RenderableType:
    before = found.before
    after = [{"target": str(tp), **row} for tp, row in zip(found.places, found.after, strict=True)]
    return Group(
        line(f"before: {counted(len(before), 'record')}"),
        _grid(before),
        line(f"after: {counted(len(after), 'record')}; nothing was written"),
        _grid(after),
        *(line(f"note: {each}") for each in found.notes),
    )


def _grid(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    names = list(rows[0]) if rows else []
    lines: Iterable[tuple[str, ...]] = (tuple(_cell(row[name]) for name in names) for row in rows)
    right = [name for name in _RIGHT if name in names]
    return Grid(names, lines, right=right) if names else line("")


def _cell(value: Any) -> str:
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"
