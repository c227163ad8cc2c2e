"""`towpath restore`: copy archived topics back into a cluster."""

from __future__ import annotations

from typing import Annotated

import typer

from towpath.archive.commands import LEFT_OUT
from towpath.archive.commands.restore_options import (
    RestoreAsked,
    RestoreOrFollowAsked,
    RestoreRunAsked,
)
from towpath.archive.restore import RESTORING
from towpath.cli.on_spark import LoggedOnSpark, with_options
from towpath.cli.options import ArchiveFile
from towpath.cli.show.output import Form, FormOption, Output, OutputOption, line, show
from towpath.cli.signals import stopping
from towpath.store.objects import ThawSpeed

restore = typer.Typer(
    help="Bring archived topics back into a cluster, from an archive or a broker's own files.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@restore.command()
@with_options
def plan(
    file: ArchiveFile,
    *,
    asked: RestoreAsked,
    output: FormOption = Form.TEXT,
) -> int:
    """Show what would be restored, and everything that would stop it."""
    del output  # `show` reads it from the arguments
    tasks = asked.tasks(file)
    from towpath.archive.commands.each_source import look_at_each  # noqa: PLC0415
    from towpath.archive.read.foreign.foreign_state import open_any  # noqa: PLC0415
    from towpath.archive.restore.plan import RestorePlan, plan_restore  # noqa: PLC0415
    from towpath.archive.restore.task import RestoreTask  # noqa: PLC0415
    from towpath.archive.show.restore import as_markdown, plan_picture  # noqa: PLC0415
    from towpath.archive.show.restore_json import plan_data  # noqa: PLC0415
    from towpath.ledger.link import open_target  # noqa: PLC0415
    from towpath.store import Store  # noqa: PLC0415

    def planned(task: RestoreTask) -> RestorePlan:
        with Store(task.store) as store, open_target(task.name, task.target) as to:
            return plan_restore(task, to, open_any(store, task.region, task.as_of))

    plans = look_at_each(tasks, planned)
    from rich.console import Group  # noqa: PLC0415

    failed = list(map(str, plans.failed))
    show(
        Group(*map(plan_picture, plans.found), *map(line, failed)),
        plans.data(plan_data),
        "\n".join([*map(as_markdown, plans.found), *failed]),
    )
    code = max(each.plan.exit_code for each in plans.found)
    return max(code, LEFT_OUT) if failed else code


@restore.command()
@with_options
def run(
    file: ArchiveFile,
    *,
    asked: RestoreRunAsked,
    on: LoggedOnSpark,
    output: OutputOption = Output.TEXT,
) -> int:
    """Restore until everything is on the target; started again, the restore resumes.

    With --follow, go on with what is archived meanwhile. A report whose name ends with .html is a
    page for people, with the proof by digests that the target has what the archive holds.
    """
    del output  # `show` reads it from the arguments
    tasks = asked.tasks_to_run(file, is_told=on.report is not None)
    name = tasks[0].name if len(tasks) == 1 else tasks[0].name.removesuffix(f".{tasks[0].source}")
    on.fork(RESTORING)
    with stopping() as stop:
        spark = on.start(
            name,
            RESTORING,
            credentials=any(each.holds_credentials for each in tasks),
            rounds=len(tasks),  # else more sources than cores would wait for each other
        )
        # These imports take a second, during which Spark's JVM starts.
        from towpath.archive.restore.metered import recording_restore, telling_restore  # noqa: PLC0415
        from towpath.archive.restore.regions import run_all  # noqa: PLC0415
        from towpath.archive.show import restore as shown  # noqa: PLC0415
        from towpath.archive.show.drill import drill_page  # noqa: PLC0415
        from towpath.archive.show.restore_json import report  # noqa: PLC0415

        with (
            shown.RestoreDisplay(name, on.logs, stop) as display,
            telling_restore(name, tasks, display.show) as tell,
            recording_restore(name, tasks, tell) as tell_all,
        ):
            progress = run_all(tasks, spark, stop, tell_all, on.parallelism)
        was_stopped = stop.is_set()
    data = report(progress, name, tasks[0].target.bootstrap, stop=was_stopped)
    show(shown.result_picture(progress, stop=was_stopped), data)
    on.tell(data, drill_page)
    is_proven = progress.proven or not any(each.prove for each in tasks)
    return 0 if progress.complete and is_proven else LEFT_OUT


@restore.command()
@with_options
def status(
    file: ArchiveFile,
    *,
    asked: RestoreOrFollowAsked,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show the progress of a restore, from the target's ledger."""
    del output  # `show` reads it from the arguments
    tasks = asked.tasks(file)
    from rich.console import Group  # noqa: PLC0415

    from towpath.archive.commands.each_source import look_at_each  # noqa: PLC0415
    from towpath.archive.restore.status import look_at_restore  # noqa: PLC0415
    from towpath.archive.show.restore import status_picture  # noqa: PLC0415
    from towpath.archive.show.restore_json import status_data  # noqa: PLC0415

    seen = look_at_each(tasks, look_at_restore)
    picture = Group(*map(status_picture, seen.found), *map(line, map(str, seen.failed)))
    show(picture, seen.data(status_data))
    is_complete = not seen.failed and all(each.complete for each in seen.found)
    return 0 if is_complete else LEFT_OUT


@restore.command()
@with_options
def thaw(
    file: ArchiveFile,
    *,
    asked: RestoreAsked,
    days: Annotated[
        int, typer.Option(min=1, help="How long the objects are to stay readable (S3).")
    ] = 7,
    tier: Annotated[
        ThawSpeed, typer.Option(help="How fast: `bulk` costs least, and takes longest (S3).")
    ] = ThawSpeed.BULK,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do it; without this option it is only shown.")
    ] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Ask the store to thaw what a restore reads; shows first which objects are cold."""
    del output  # `show` reads it from the arguments
    tasks = asked.tasks(file)
    from rich.console import Group  # noqa: PLC0415

    from towpath.archive.commands.each_source import look_at_each  # noqa: PLC0415
    from towpath.archive.restore.thawing import ThawWish  # noqa: PLC0415
    from towpath.archive.restore.thawing import thaw as thaw_all  # noqa: PLC0415
    from towpath.archive.show.restore_json import thawing_data  # noqa: PLC0415
    from towpath.archive.show.thawing import thaw_picture  # noqa: PLC0415

    wish = ThawWish(days=days, speed=tier, asks=yes)
    seen = look_at_each(tasks, lambda each: thaw_all(each, wish))
    picture = Group(*map(thaw_picture, seen.found), *map(line, map(str, seen.failed)))
    show(picture, seen.data(thawing_data))
    return LEFT_OUT if seen.failed or any(each.failed for each in seen.found) else 0
