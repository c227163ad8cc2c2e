"""`towpath cutover`: end a migration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group

from towpath.cli.options import (
    LinkFile,
    MasterOption,
    ReportOption,
    SlicesOption,
    require_master,
    require_writable,
    write_report,
)
from towpath.cli.output import Output, OutputOption, show
from towpath.cli.planned import line
from towpath.cli.signals import stopping
from towpath.config import LinkConfig, load
from towpath.engine.session import Starting
from towpath.model.amounts import count, span

if TYPE_CHECKING:
    from towpath.plan.cutover import Report

NOT_DONE = 3


def cutover(
    file: LinkFile,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Touch nothing; say how long it would take.")
    ] = False,
    quiet: Annotated[
        float, typer.Option(min=0, help="Seconds for which nobody must have written.")
    ] = 5.0,
    report: ReportOption = None,
    master: MasterOption = None,
    parallelism: SlicesOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """End a migration: nobody writes, all is copied, all else is the same, and proven."""
    del output  # `show` knows it
    require_writable(report)
    require_master(master)
    config = load(file)
    with stopping() as stop:
        spark = Starting(master, f"towpath {config.link}", parallelism)
        # These take a second, in which Spark's JVM starts.
        from towpath.cli.progress import Display  # noqa: PLC0415
        from towpath.plan.cutover import Cut  # noqa: PLC0415
        from towpath.plan.cutover import cutover as cut_over  # noqa: PLC0415
        from towpath.plan.verify import Scope  # noqa: PLC0415

        cut = Cut(dry_run, quiet, Scope(master=master, parallelism=parallelism))
        with Display(config.link) as display:
            found = cut_over(config, cut, spark, stop, display.show)
    data = _report(config, found, dry_run=dry_run)
    lines = [*data["notes"], *map(str, found.writing), *found.trouble, *_took(found)]
    lines.append(_sentence(found, data))
    show(Group(*map(line, lines)), data)
    write_report(report, data)
    return 0 if found.complete else NOT_DONE


def _report(config: LinkConfig, found: Report, *, dry_run: bool) -> dict[str, Any]:
    verdicts = found.verdicts
    return {
        "link": config.link,
        "dry_run": dry_run,
        "complete": found.complete,
        "writing": [str(each) for each in found.writing],
        "left_out": found.trouble,
        "notes": [f"note: {note}" for note in found.plan.notes]
        + [f"note: {row.topic}-{row.partition}: {text}" for row in verdicts for text in row.notes],
        "seconds": found.seconds,
        "estimated_seconds": found.estimate,
        "steps": len(found.synced.outcome.done) if found.synced else 0,
        "partitions": len(verdicts),
        "equal_partitions": sum(row.verdict == "equal" for row in verdicts),
        "equal_records": sum(row.comparison.counts.equal for row in verdicts if row.comparison),
    }


def _took(found: Report) -> list[str]:
    return [f"{part}: {span(seconds)}" for part, seconds in found.seconds.items()]


def _sentence(found: Report, data: dict[str, Any]) -> str:
    if not found.complete:
        return "not cut over: leave the clients where they are, mend what stands above, try again"
    proven = f"{data['equal_partitions']} partitions equal, {count(data['equal_records'])} records"
    if found.estimate is not None:
        return f"nobody writes now; {proven}; the cutover would take about {span(found.estimate)}"
    return f"cut over: {proven}; the clients can be moved to the target"
