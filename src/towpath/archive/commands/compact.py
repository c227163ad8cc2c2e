"""`towpath archive compact`: merge small segments into larger ones."""

from __future__ import annotations

import time
from typing import Annotated

import typer

from towpath.archive.commands import LEFT_OUT
from towpath.archive.config import load_archive
from towpath.cli.on_spark import LoggedOnSpark, with_options
from towpath.cli.options import ArchiveFile
from towpath.cli.show.output import Output, OutputOption, show
from towpath.cli.signals import stopping
from towpath.runtime import log as logging
from towpath.settings.naming import require_expressions

_COMPACTING = ("towpath.archive.upkeep.slice.compact_slice",)


@with_options
def compact(
    file: ArchiveFile,
    *,
    now: Annotated[
        bool,
        typer.Option(
            "--now",
            help="Merge whatever has a neighbour: without waiting for the age, number and size that"
            " the rules want.",
        ),
    ] = False,
    topics: Annotated[
        list[str] | None,
        typer.Option(help="Regular expression; only topics whose whole name matches. Repeatable."),
    ] = None,
    partitions: Annotated[
        list[int] | None,
        typer.Option(min=0, help="Number of a partition; only partitions with it. Repeatable."),
    ] = None,
    level: Annotated[
        int | None, typer.Option(min=0, max=98, help="Merge only segments of this level.")
    ] = None,
    on: LoggedOnSpark,
    output: OutputOption = Output.TEXT,
) -> int:
    """Merge small segments into larger ones until nothing qualifies, and delete what is unused."""
    del output  # `show` reads it from the arguments
    expressions = require_expressions(tuple(topics or (".*",)), "--topics")
    config = load_archive(file)
    if on.logs is not None:
        logging.begin(on.logs)
    on.fork(_COMPACTING)
    with stopping() as stop:
        from towpath.cli.show.bar import Bar  # noqa: PLC0415  # help waits for none of it

        spark = on.start(
            f"archive {config.archive}",
            _COMPACTING,
            credentials=config.holds_credentials,
        )
        # These imports take a second, during which Spark's JVM starts.
        from towpath.archive.upkeep.compacting import CompactionWishes  # noqa: PLC0415
        from towpath.archive.upkeep.compacting import compact as work  # noqa: PLC0415

        wishes = CompactionWishes(
            now=now,
            topics=expressions,
            partitions=frozenset(partitions or ()),
            level=level,
            parallelism=on.parallelism,
        )
        began = time.monotonic()
        with Bar("compacting", "merges") as bar:
            done = work(config, wishes, spark, stop, lambda now: bar.done(now.done, now.planned))
    from towpath.archive.show.compaction_result import compaction_data, compaction_picture  # noqa: PLC0415

    data = compaction_data(config.archive, done, time.monotonic() - began, stopped=stop.is_set())
    show(compaction_picture(data), data)
    on.tell(data)
    return 0 if data["complete"] else LEFT_OUT
