"""`towpath run`: mirror topics and their records."""

from __future__ import annotations

from typing import Annotated

import typer

from towpath.cli.options import (
    LinkFile,
    LogFormatOption,
    LogLevelOption,
    MasterOption,
    PackagesOption,
    ReportOption,
    SlicesOption,
    checked_packages,
    logs_wanted,
    require_master,
    require_writable,
)
from towpath.cli.show.display import Display
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
    no_wait: Annotated[
        bool,
        typer.Option(
            "--no-wait", help="End with exit code 4 if a cluster does not answer at the start."
        ),
    ] = False,
    report: ReportOption = None,
    master: MasterOption = None,
    packages_archive: PackagesOption = None,
    parallelism: SlicesOption = None,
    log_level: LogLevelOption = None,
    log_format: LogFormatOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Mirror until stopped by Ctrl-C or SIGTERM (twice: at once), or until caught up."""
    del output  # `show` reads it from the arguments
    require_writable(report)
    require_master(master)
    packages = checked_packages(master, packages_archive)
    config = load(file)
    with stopping() as stop:
        logs = logs_wanted(log_level, log_format)
        with Display(config.link, logs, stop=stop) as display:
            # Each slice needs a slot of its own, as it goes on until its round is over, and the
            # slices of the next round begin beside it.
            spark = Starting(
                master,
                f"towpath {config.link}",
                parallelism,
                credentials=config.holds_credentials,
                works=COPYING,
                rounds=2,
                packages=packages,
            )
            # These imports take a second, during which Spark's JVM starts.
            from towpath.cli.running import finish  # noqa: PLC0415
            from towpath.mirror.progress import Wishes  # noqa: PLC0415
            from towpath.mirror.run import run as mirror  # noqa: PLC0415

            wishes = Wishes(until_caught_up, parallelism, wait=not no_wait)
            progress = mirror(config, wishes, spark, stop, display.show)
        return finish(config.link, wishes, progress, report, stopped=stop.is_set())
