"""`towpath restore`: bring archived topics back into a cluster."""

from __future__ import annotations

from typing import Annotated

import typer
from pydantic import ValidationError

from towpath.cli.moments import AtOption, VersionOption, as_of
from towpath.cli.on_spark import LoggedOnSpark, with_options
from towpath.cli.options import ArchiveFile
from towpath.cli.show.output import Form, FormOption, Output, OutputOption, show
from towpath.cli.signals import stopping
from towpath.config import Bound, RestoredRange, load_archive, parse_bound
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.foreign import foreign
from towpath.restore import RESTORING
from towpath.restore.task import RestoreTask
from towpath.store.objects import ThawSpeed

LEFT_OUT = 3
restore = typer.Typer(
    help="Bring archived topics back into a cluster, from an archive or a broker's own files.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

FromOption = Annotated[
    str | None,
    typer.Option(
        "--from",
        metavar="OFFSET|TIME",
        help="Begin each partition here, in place of `restore.range.from`.",
    ),
]
ToOption = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="OFFSET|TIME",
        help="End each partition before this, in place of `restore.range.to`.",
    ),
]
SourceOption = Annotated[
    str | None,
    typer.Option("--source", metavar="NAME", help="Only this one of the file's `restore.sources`."),
]
FollowOption = Annotated[
    bool,
    typer.Option("--follow", help="Go on with what is archived meanwhile, until stopped."),
]


@restore.command()
def plan(
    file: ArchiveFile,
    *,
    at: AtOption = None,
    version: VersionOption = None,
    first: FromOption = None,
    end: ToOption = None,
    source: SourceOption = None,
    output: FormOption = Form.TEXT,
) -> int:
    """Show what would be restored, and everything that would stop it."""
    del output  # `show` reads it from the arguments
    tasks = _tasks(file, at, version, first, end, source)
    from towpath.cli.show.restore import as_markdown, plan_picture  # noqa: PLC0415
    from towpath.ledger.link import open_target  # noqa: PLC0415
    from towpath.restore.plan import plan_restore  # noqa: PLC0415
    from towpath.segments.foreign.state import open_any  # noqa: PLC0415
    from towpath.store import Store  # noqa: PLC0415

    plans = []
    for task in tasks:
        with Store(task.store) as store, open_target(task.name, task.target) as to:
            plans.append(plan_restore(task, to, open_any(store, task.region, task.as_of)))
    from rich.console import Group  # noqa: PLC0415

    data = [each.as_data() for each in plans]
    show(
        Group(*map(plan_picture, plans)),
        data[0] if len(data) == 1 else {"sources": data},
        "\n".join(map(as_markdown, plans)),
    )
    return max(each.plan.exit_code for each in plans)


@restore.command()
@with_options
def run(
    file: ArchiveFile,
    *,
    at: AtOption = None,
    version: VersionOption = None,
    first: FromOption = None,
    end: ToOption = None,
    follow: FollowOption = False,
    source: SourceOption = None,
    on: LoggedOnSpark,
    output: OutputOption = Output.TEXT,
) -> int:
    """Restore until all is there; started again, it goes on where it stood.

    With --follow, go on with what is archived meanwhile. A report whose name ends with .html is a
    page for people.
    """
    del output  # `show` reads it from the arguments
    tasks = _tasks(file, at, version, first, end, source, follow=follow)
    name = tasks[0].name if len(tasks) == 1 else tasks[0].name.removesuffix(f".{tasks[0].source}")
    with stopping() as stop:
        spark = on.start(
            name,
            RESTORING,
            credentials=any(each.holds_credentials for each in tasks),
            rounds=len(tasks),  # else more sources than cores would wait for each other
        )
        # These imports take a second, during which Spark's JVM starts.
        from towpath.cli.show import restore as shown  # noqa: PLC0415
        from towpath.cli.show.drill import drill_page  # noqa: PLC0415
        from towpath.restore.regions import run_all  # noqa: PLC0415
        from towpath.restore.telling import telling_restore, told_restore  # noqa: PLC0415

        with (
            shown.RestoreDisplay(name, on.logs, stop) as display,
            telling_restore(name, tasks, display.show) as tell,
            told_restore(name, tasks, tell) as tell_all,
        ):
            progress = run_all(tasks, spark, stop, tell_all, on.parallelism)
        was_stopped = stop.is_set()
    data = shown.report(progress, name, tasks[0].target.bootstrap, stop=was_stopped)
    show(shown.result_picture(progress, stop=was_stopped), data)
    on.tell(data, drill_page)
    return 0 if progress.complete else LEFT_OUT


@restore.command()
def status(
    file: ArchiveFile,
    *,
    at: AtOption = None,
    version: VersionOption = None,
    first: FromOption = None,
    end: ToOption = None,
    follow: FollowOption = False,
    source: SourceOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show how far a restore is, from the target's ledger."""
    del output  # `show` reads it from the arguments
    tasks = _tasks(file, at, version, first, end, source, follow=follow)
    from rich.console import Group  # noqa: PLC0415

    from towpath.cli.show.restore import status_picture  # noqa: PLC0415
    from towpath.restore.status import look  # noqa: PLC0415

    seen = [look(each) for each in tasks]
    data = [each.as_data() for each in seen]
    show(Group(*map(status_picture, seen)), data[0] if len(data) == 1 else {"sources": data})
    return 0 if all(each.complete for each in seen) else LEFT_OUT


@restore.command()
def thaw(
    file: ArchiveFile,
    *,
    days: Annotated[
        int, typer.Option(min=1, help="How long the objects are to stay readable (S3).")
    ] = 7,
    tier: Annotated[
        ThawSpeed, typer.Option(help="How fast: `bulk` costs least, and takes longest (S3).")
    ] = ThawSpeed.BULK,
    at: AtOption = None,
    version: VersionOption = None,
    first: FromOption = None,
    end: ToOption = None,
    source: SourceOption = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do it; without this option it is only shown.")
    ] = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Ask the store to thaw what a restore reads; shows first which objects are cold."""
    del output  # `show` reads it from the arguments
    tasks = _tasks(file, at, version, first, end, source)
    from rich.console import Group  # noqa: PLC0415

    from towpath.cli.show.thawing import thaw_picture  # noqa: PLC0415
    from towpath.restore.thawing import ThawWish  # noqa: PLC0415
    from towpath.restore.thawing import thaw as thaw_all  # noqa: PLC0415

    wish = ThawWish(days=days, speed=tier, asks=yes)
    seen = [thaw_all(each, wish) for each in tasks]
    data = [each.as_data() for each in seen]
    show(Group(*map(thaw_picture, seen)), data[0] if len(data) == 1 else {"sources": data})
    return LEFT_OUT if any(each.failed for each in seen) else 0


def _tasks(
    file: ArchiveFile,
    at: str | None,
    version: int | None,
    first: str | None,
    end: str | None,
    source: str | None,
    *,
    follow: bool = False,
) -> tuple[RestoreTask, ...]:
    """Return what a command restores: all sources of the file, or one of them.

    Raises:
        ConfigError: The options or the file ask for something impossible.
    """
    moment = as_of(at, version)
    if follow and (at is not None or version is not None):
        raise _misused("--follow", "is not used with --at or --version: what follows has no end")
    config = load_archive(file)
    part = _range(config.restore.range, first, end)
    if follow and not (part.is_whole and not config.restore.partitions):
        raise _misused("--follow", "is not used with a range, or with `restore.partitions`")
    tasks = RestoreTask.each(config, moment, part, follow=follow)
    if source is not None:
        known = ", ".join(each.source for each in tasks if each.source) or "none"
        tasks = tuple(each for each in tasks if each.source == source)
        if not tasks:
            raise _misused("--source", f"is none of the file's `restore.sources` ({known})")
    if version is not None and len(tasks) > 1:
        raise _misused("--version", "counts in each region by itself; name one with --source")
    return tasks


def _misused(option: str, text: str) -> ConfigError:
    return ConfigError((ConfigProblem(option, text),))


def _range(known: RestoredRange, first: str | None, end: str | None) -> RestoredRange:
    """Return the range of the file, with what the options say in its place."""
    bounds: dict[str, Bound | None] = {"from": known.first, "to": known.end}
    for option, text in (("from", first), ("to", end)):
        try:
            bounds[option] = bounds[option] if text is None else parse_bound(text)
        except ValueError as error:
            raise ConfigError((ConfigProblem(f"--{option}", foreign(error)),)) from None
    try:
        return RestoredRange.model_validate(bounds)
    except ValidationError:
        text = "is not behind --from, so the range is empty"
        raise ConfigError((ConfigProblem("--to", text),)) from None
