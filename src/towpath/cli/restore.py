"""`towpath restore`: bring archived topics back into a cluster."""

from __future__ import annotations

from typing import Annotated

import typer
from pydantic import ValidationError

from towpath.cli.on_spark import LoggedOnSpark, with_options
from towpath.cli.options import ArchiveFile
from towpath.cli.show.output import Form, FormOption, Output, OutputOption, show
from towpath.cli.signals import stopping
from towpath.config import Bound, RestoredRange, load_archive, parse_bound
from towpath.config.times import parse_time
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.foreign import foreign
from towpath.restore import RESTORING
from towpath.restore.scope import AsOf
from towpath.restore.task import RestoreTask

LEFT_OUT = 3
restore = typer.Typer(
    help="Bring archived topics back into a cluster.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

AtOption = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="TIME",
        help="Restore what was archived at this time, such as 2025-01-31T08:00:00Z.",
    ),
]
VersionOption = Annotated[
    int | None, typer.Option("--version", min=1, help="Restore this version of the archive.")
]


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


@restore.command()
def plan(
    file: ArchiveFile,
    *,
    at: AtOption = None,
    version: VersionOption = None,
    first: FromOption = None,
    end: ToOption = None,
    output: FormOption = Form.TEXT,
) -> int:
    """Show what would be restored, and everything that would stop it."""
    del output  # `show` reads it from the arguments
    task = _task(file, at, version, first, end)
    from towpath.cli.show.restore import as_markdown, plan_picture  # noqa: PLC0415
    from towpath.ledger.link import open_target  # noqa: PLC0415
    from towpath.restore.plan import plan_restore  # noqa: PLC0415
    from towpath.restore.scope import open_archive  # noqa: PLC0415
    from towpath.store import Store  # noqa: PLC0415

    with Store(task.store) as store, open_target(task.name, task.target) as to:
        made = plan_restore(task, to, open_archive(store, task.region, task.as_of))
    show(plan_picture(made), made.as_data(), as_markdown(made))
    return made.plan.exit_code


@restore.command()
@with_options
def run(
    file: ArchiveFile,
    *,
    at: AtOption = None,
    version: VersionOption = None,
    first: FromOption = None,
    end: ToOption = None,
    on: LoggedOnSpark,
    output: OutputOption = Output.TEXT,
) -> int:
    """Restore until all is there; started again, it goes on where it stood."""
    del output  # `show` reads it from the arguments
    task = _task(file, at, version, first, end)
    with stopping() as stop:
        spark = on.start(task.name, RESTORING, credentials=task.holds_credentials)
        # These imports take a second, during which Spark's JVM starts.
        from towpath.cli.show import restore as shown  # noqa: PLC0415
        from towpath.restore.run import run as bring_back  # noqa: PLC0415

        with shown.RestoreDisplay(task.name, on.logs, stop) as display:
            progress = bring_back(task, spark, stop, display.show, on.parallelism)
        was_stopped = stop.is_set()
    data = shown.report(progress, task.name, stop=was_stopped)
    show(shown.result_picture(progress, stop=was_stopped), data)
    on.tell(data)
    return 0 if progress.complete else LEFT_OUT


@restore.command()
def status(
    file: ArchiveFile,
    *,
    at: AtOption = None,
    version: VersionOption = None,
    first: FromOption = None,
    end: ToOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show how far a restore is, from the target's ledger."""
    del output  # `show` reads it from the arguments
    task = _task(file, at, version, first, end)
    from towpath.cli.show.restore import status_picture  # noqa: PLC0415
    from towpath.restore.status import look  # noqa: PLC0415

    seen = look(task)
    show(status_picture(seen), seen.as_data())
    return 0 if seen.complete else LEFT_OUT


def _task(
    file: ArchiveFile, at: str | None, version: int | None, first: str | None, end: str | None
) -> RestoreTask:
    if at is not None and version is not None:
        raise ConfigError((ConfigProblem("--version", "is not used with --at; name one of them"),))
    try:
        time = None if at is None else parse_time(at)
    except ValueError as error:
        raise ConfigError((ConfigProblem("--at", foreign(error)),)) from None
    config = load_archive(file)
    return RestoreTask.of(config, AsOf(version, time), _range(config.restore.range, first, end))


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
