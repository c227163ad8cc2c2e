"""`towpath run`: mirror topics and their records."""

from __future__ import annotations

from typing import Annotated

import typer

from towpath.cli.on_spark import LoggedOnSpark, with_options
from towpath.cli.options import LinkFile, UntilCaughtUpOption
from towpath.cli.show.output import Output, OutputOption
from towpath.cli.signals import stopping
from towpath.mirror import COPYING, TRANSFORMING
from towpath.mirror.show.display import Display
from towpath.settings import load


@with_options
def run(
    file: LinkFile,
    *,
    until_caught_up: UntilCaughtUpOption = False,
    no_wait: Annotated[
        bool,
        typer.Option(
            "--no-wait", help="End with exit code 4 if a cluster does not answer at the start."
        ),
    ] = False,
    on: LoggedOnSpark,
    output: OutputOption = Output.TEXT,
) -> int:
    """Mirror until stopped by Ctrl-C or SIGTERM (twice: at once), or until caught up."""
    del output  # `show` reads it from the arguments
    config = load(file, transforms=True)
    with stopping() as stop:
        with Display(config.link, on.logs, stop=stop) as display:
            # Each slice needs a slot of its own, as it goes on until its round is over, and the
            # slices of the next round begin beside it.
            works = COPYING if config.transforms is None else TRANSFORMING
            spark = on.start(config.link, works, credentials=config.holds_credentials, rounds=2)
            # These imports take a second, during which Spark's JVM starts.
            from towpath.mirror.commands.running import finish  # noqa: PLC0415
            from towpath.mirror.failback.stray_loop import StrayLoop  # noqa: PLC0415
            from towpath.mirror.run.progress import Wishes  # noqa: PLC0415
            from towpath.mirror.run.run import run as mirror  # noqa: PLC0415

            follow = None if until_caught_up else file
            wishes = Wishes(until_caught_up, on.parallelism, wait=not no_wait, file=follow)
            if config.transforms is not None:
                from towpath.mirror.transform.run import run as transform  # noqa: PLC0415

                progress = transform(config, file, wishes, spark, stop, display.show)
            else:
                progress = mirror(config, wishes, spark, stop, display.show, beside=StrayLoop)
        return finish(config.link, wishes, progress, on.report, stopped=stop.is_set())
