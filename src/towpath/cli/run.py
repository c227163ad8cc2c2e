"""`towpath run`: mirror topics and their records."""

from __future__ import annotations

from typing import Annotated

import typer

from towpath.cli.options import (
    LinkFile,
    MasterOption,
    ReportOption,
    SlicesOption,
    require_master,
    require_writable,
)
from towpath.cli.show.output import Output, OutputOption
from towpath.cli.signals import stopping
from towpath.config import load
from towpath.engine.starting import Starting
from towpath.mirror import COPYING


def run(
    file: LinkFile,
    *,
    until_caught_up: Annotated[
        bool, typer.Option(help="End at the offsets that the source has now.")
    ] = False,
    report: ReportOption = None,
    master: MasterOption = None,
    parallelism: SlicesOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Mirror until stopped by Ctrl-C or SIGTERM (twice: at once), or until caught up."""
    del output  # `show` reads it from the arguments
    require_writable(report)
    require_master(master)
    config = load(file)
    with stopping() as stop:
        # Each slice needs a slot of its own, as it goes on until its round is over, and the slices
        # of the next round begin beside it.
        spark = Starting(
            master,
            f"towpath {config.link}",
            parallelism,
            credentials=config.holds_credentials,
            works=COPYING,
            rounds=2,
        )
        # These imports take a second, during which Spark's JVM starts.
        from towpath.cli.running import mirror  # noqa: PLC0415
        from towpath.mirror.progress import Wishes  # noqa: PLC0415

        return mirror(config, Wishes(until_caught_up, parallelism), spark, stop, report)
