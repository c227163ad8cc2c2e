"""`towpath archive recover`: add objects that no log entry names to the archive again."""

from __future__ import annotations

from typing import Annotated

import typer

from towpath.archive.commands import LEFT_OUT
from towpath.archive.commands.forget import YesOption
from towpath.archive.config import load_archive
from towpath.cli.options import ArchiveFile, ReportOption, require_writable, write_report
from towpath.cli.show.output import Output, OutputOption, show
from towpath.cli.signals import stopping


def recover(
    file: ArchiveFile,
    *,
    lost: Annotated[
        bool,
        typer.Option(
            "--lost",
            help="Make a gap (`lost`) of offsets between objects that are in no object.",
        ),
    ] = False,
    yes: YesOption = False,
    report: ReportOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Add objects to the commit log that no entry names, as after the log was set back.

    Shows them first. Their footers tell what they hold; with --yes their bytes are proven, and
    what follows where the archive ends is committed.
    """
    del output  # `show` reads it from the arguments
    require_writable(report)
    config = load_archive(file)
    from towpath.archive.show.recovery import recovery_data, recovery_picture  # noqa: PLC0415
    from towpath.archive.upkeep import recovering  # noqa: PLC0415  # help waits for none of it
    from towpath.cli.show.bar import Bar  # noqa: PLC0415

    if yes:
        with stopping() as stop, Bar("proving", "objects") as bar:
            made = recovering.recover(config, stop, bar.done, lost=lost)
    else:
        made = recovering.plan_recovery(config, lost=lost)
    data = recovery_data(config.archive, made)
    show(recovery_picture(made, data), data)
    write_report(report, data)
    return 0 if made.complete else LEFT_OUT
