"""`towpath failback`: turn a link round that was failed over."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from towpath.cli.confirming import confirmed
from towpath.cli.on_spark import LoggedOnSpark, with_options
from towpath.cli.options import LinkFile, YesOption
from towpath.cli.show.bar import Bar
from towpath.cli.show.output import Output, OutputOption, console, show
from towpath.cli.signals import stopping
from towpath.mirror import COPYING
from towpath.mirror.show.display import Display
from towpath.model.link_names import back_path
from towpath.model.nouns import Side
from towpath.settings import load

if TYPE_CHECKING:
    from threading import Event

    from towpath.mirror.failback.failback_plan import FailbackPlan
    from towpath.mirror.failback.request import FailbackReport
    from towpath.mirror.failback.salvage.replay import SalvagedPartition
    from towpath.mirror.run.progress import RunProgress

NOT_DONE = 3


@with_options
def failback(
    file: LinkFile,
    *,
    wins: Annotated[
        Side | None,
        typer.Option(
            help="The side whose records stay in the topics, where both were written since the cut."
            " What the other side alone has is first copied to salvage topics."
        ),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Where to write the file of the link back; beside FILE by default."
        ),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", help="Show what each side alone has, and change nothing."),
    ] = False,
    yes: YesOption = False,
    on: LoggedOnSpark,
    output: OutputOption = Output.TEXT,
) -> int:
    """Turn a link round that was failed over or cut over, and copy back what clients wrote since.

    Both clusters must answer. Nothing is destroyed: where both sides were written, it refuses until
    --wins says whose records stay, and copies those of the other side to salvage topics first.
    """
    del output  # `show` reads it from the arguments
    from towpath.mirror.show.failback_picture import as_json, caught_up, picture  # noqa: PLC0415  # for help

    where = to or back_path(file)
    with stopping() as stop:
        report, salvaged = _turned(file, where, wins, stop, dry_run=dry_run, yes=yes)
        ran = _run_back(where, on, stop) if report.done and not stop.is_set() else None
    files = file, where
    data = as_json(report, files, salvaged, ran, dry_run=dry_run)
    show(picture(report, files, salvaged, ran), data)
    on.tell(data)
    if dry_run:
        return 0 if report.plan.ready or report.done else NOT_DONE
    return 0 if report.done and ran is not None and caught_up(ran) else NOT_DONE


def _turned(
    file: Path, to: Path, wins: Side | None, stop: Event, *, dry_run: bool, yes: bool
) -> tuple[FailbackReport, list[SalvagedPartition]]:
    # These imports take a second, which help need not wait for.
    from towpath.mirror.failback.failback import failback as turn_round  # noqa: PLC0415
    from towpath.mirror.failback.request import FailbackRequest  # noqa: PLC0415
    from towpath.mirror.failback.salvaged import list_salvaged  # noqa: PLC0415
    from towpath.mirror.show.failback_picture import plan_picture  # noqa: PLC0415

    config = load(file)
    with Bar("looking at both clusters", "records") as bar:

        def agreed(plan: FailbackPlan) -> bool:
            with bar.away():
                console(stderr=True).print(plan_picture(plan))
                return not dry_run and (yes or confirmed("Turn the link round?"))

        asked = FailbackRequest(
            file=file,
            to=to,
            wins=wins,
            agreed=agreed,
            stop=stop,
            told=lambda what, done, of: bar.doing(what, "records", done, of),
        )
        report = turn_round(config, asked)
        if not report.plan.ready and not report.done:
            with bar.away():
                console(stderr=True).print(plan_picture(report.plan))
        return report, list_salvaged(config) if report.salvaged else []


def _run_back(file: Path, on: LoggedOnSpark, stop: Event) -> RunProgress:
    """Run the link back until it has caught up."""
    config = load(file)
    with Display(config.link, on.logs, stop=stop) as display:
        spark = on.start(config.link, COPYING, credentials=config.holds_credentials, rounds=2)
        # These imports take a second, during which Spark's JVM starts.
        from towpath.mirror.run.progress import Wishes  # noqa: PLC0415
        from towpath.mirror.run.run import run  # noqa: PLC0415

        wishes = Wishes(until_caught_up=True, parallelism=on.parallelism)
        return run(config, wishes, spark, stop, display.show)
