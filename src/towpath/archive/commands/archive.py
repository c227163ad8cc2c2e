"""`towpath archive`: copies of topics, kept in an object store."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from towpath.archive.commands import LEFT_OUT
from towpath.archive.commands.as_of import AtOption, HistoryOption, VersionOption, as_of
from towpath.archive.commands.compact import compact
from towpath.archive.commands.forget import forget, prune
from towpath.archive.commands.recover import recover
from towpath.archive.commands.register import register
from towpath.archive.commands.verify import verify
from towpath.archive.config import load_archive
from towpath.archive.log import AsOf
from towpath.archive.show.status_shapes import SegmentsJson, ShownObjectJson
from towpath.cli.on_spark import LoggedOnSpark, OnSpark, with_options
from towpath.cli.options import (
    MOST_EVENTS,
    ArchiveFile,
    EventsOption,
    SinceOption,
    UntilCaughtUpOption,
    WatchOption,
    time_of,
)
from towpath.cli.show.output import Output, OutputOption, RowsForm, console, show
from towpath.cli.signals import stopping
from towpath.engine.sql_engine import SqlEngine, sql_engine
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.runtime.clock import now_ms
from towpath.settings.naming import require_expressions

if TYPE_CHECKING:
    from towpath.archive.status.status import ArchiveStatus

archive = typer.Typer(
    help="Keep topics in a store, from where they can be brought back.", no_args_is_help=True
)

archive.command("compact")(compact)
archive.command("prune")(prune)
archive.command("forget")(forget)
archive.command("recover")(recover)

_ARCHIVING = ("towpath.archive.write.slice.archive_slice",)


@archive.command("run")
@with_options
def run(
    file: ArchiveFile,
    *,
    until_caught_up: UntilCaughtUpOption = False,
    no_wait: Annotated[
        bool,
        typer.Option(
            "--no-wait", help="End with exit code 4 if the source does not answer at the start."
        ),
    ] = False,
    on: LoggedOnSpark,
    output: OutputOption = Output.TEXT,
) -> int:
    """Archive until stopped by Ctrl-C or SIGTERM (twice: at once), or until caught up."""
    del output  # `show` reads it from the arguments
    config = load_archive(file)
    on.fork(_ARCHIVING)
    began = time.monotonic()
    with stopping() as stop:
        from towpath.archive.show.archive_display import ArchiveDisplay  # noqa: PLC0415  # as below

        with ArchiveDisplay(config.archive, on.logs, stop) as display:
            spark = on.start(
                f"archive {config.archive}",
                _ARCHIVING,
                credentials=config.holds_credentials,
                rounds=2,
            )
            # These imports take a second, during which Spark's JVM starts.
            from towpath.archive.write.progress import ArchiveWishes  # noqa: PLC0415
            from towpath.archive.write.run import run as work  # noqa: PLC0415

            wishes = ArchiveWishes(until_caught_up, on.parallelism, wait=not no_wait)
            progress = work(config, wishes, spark, stop, display.show)
        from towpath.archive.show.archive_run import run_data, run_result  # noqa: PLC0415

        data = run_data(config.archive, progress, time.monotonic() - began, stopped=stop.is_set())
        show(run_result(progress, data), data)
        on.tell(data)
        return 0 if data["complete"] else LEFT_OUT


@archive.command("status")
def status(
    file: ArchiveFile,
    *,
    topics: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EXPRESSION",
            help="Only topics whose whole name matches, and whether these are safe to delete at the"
            " source: all that it holds of them is archived, as of now; may be given several"
            " times.",
        ),
    ] = None,
    source: Annotated[
        bool, typer.Option(help="Whether to ask the source where its partitions end now.")
    ] = True,
    watch: WatchOption = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show how far each partition is archived; partitions in trouble come first."""
    if watch and output is Output.JSON:
        text = "shows text only; leave out `--output json`"
        raise ConfigError((ConfigProblem("--watch", text),))
    from towpath.archive.show.archive import status_picture  # noqa: PLC0415
    from towpath.archive.show.archive_json import status_data  # noqa: PLC0415
    from towpath.archive.status.status import look_at_archive  # noqa: PLC0415  # help waits for none of it

    expressions = require_expressions(tuple(topics), "--topics") if topics else ()
    config = load_archive(file)
    found = look_at_archive(config, ask_source=source, topics=expressions)
    if watch:
        from towpath.cli.show.watching import watched  # noqa: PLC0415  # as above

        def again() -> ArchiveStatus:
            return look_at_archive(config, ask_source=source, topics=expressions)

        with stopping() as stop:
            return _status_code(watched(found, again, status_picture, stop))
    screen = console()
    most = max(20, screen.height) if screen.is_terminal else None
    show(status_picture(found, most), status_data(found))
    return _status_code(found)


def _status_code(found: ArchiveStatus) -> int:
    if found.source:
        return 4
    if found.deletable is not None and not found.deletable.safe:
        return LEFT_OUT
    failed = found.troubled or found.compaction.failed or found.run_trouble
    return LEFT_OUT if failed else 0


@archive.command("ls")
def ls(
    file: ArchiveFile,
    topic: Annotated[
        str | None, typer.Argument(metavar="[TOPIC]", help="One topic.", show_default=False)
    ] = None,
    partition: Annotated[
        int | None, typer.Argument(metavar="[PARTITION]", help="One partition of it.", min=0)
    ] = None,
    *,
    output: OutputOption = Output.TEXT,
) -> None:
    """List the segments of an archive, with their objects."""
    del output  # `show` reads it from the arguments
    from towpath.archive.read.listing import listed  # noqa: PLC0415  # help waits for none of it
    from towpath.archive.show.archive import segments_picture  # noqa: PLC0415
    from towpath.archive.show.archive_json import segment_data  # noqa: PLC0415

    found = [segment for _, segment in listed(load_archive(file), topic, partition)]
    show(segments_picture(found), SegmentsJson(segments=list(map(segment_data, found))))


@archive.command("lives")
def lives(
    file: ArchiveFile,
    topic: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[EXPRESSION]...",
            help="Only topics whose whole name matches.",
            show_default=False,
        ),
    ] = None,
    *,
    output: OutputOption = Output.TEXT,
) -> None:
    """List the lives of topics: one that was deleted and created again has several."""
    del output  # `show` reads it from the arguments
    from towpath.archive.read.lives import lives as found_lives  # noqa: PLC0415  # as in `ls`
    from towpath.archive.show.lives import lives_data, lives_picture  # noqa: PLC0415

    expressions = require_expressions(tuple(topic), "EXPRESSION") if topic else ()
    found = found_lives(load_archive(file), expressions)
    show(lives_picture(found), lives_data(found))


@archive.command("show")
def show_one(
    file: ArchiveFile,
    segment: Annotated[
        str,
        typer.Argument(
            metavar="SEGMENT",
            help="Key of an object, or the end of it; `schemas` for the archived schemas,"
            " `schemas:SUBJECT` for those of a subject, with their texts.",
        ),
    ],
    *,
    at: AtOption = None,
    version: VersionOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show the segments in an object: their parts and gaps, as the object's footer describes them.

    `schemas` in place of a key shows the archived schemas, now or as of a time or version.
    """
    del output  # `show` reads it from the arguments
    if segment.partition(":")[0] == "schemas":
        return _show_schemas(file, segment, as_of(at, version))
    if at is not None or version is not None:
        problem = ConfigProblem(
            "--at", "and --version are used with `schemas`: objects never change"
        )
        raise ConfigError((problem,))
    from towpath.archive.read.listing import show_object  # noqa: PLC0415  # help waits for none of it
    from towpath.archive.show.archive import look_picture  # noqa: PLC0415
    from towpath.archive.show.archive_json import look_data  # noqa: PLC0415

    found = show_object(load_archive(file), segment)
    show(look_picture(found), ShownObjectJson(segments=list(map(look_data, found))))
    return 0 if all(each.equal for each in found) else LEFT_OUT


def _show_schemas(file: ArchiveFile, what: str, moment: AsOf) -> int:
    from towpath.archive.read.archived_schemas import show_schemas  # noqa: PLC0415  # as in `status`
    from towpath.archive.show.archived_schema_list import schemas_data, schemas_picture  # noqa: PLC0415

    found = show_schemas(load_archive(file), what.partition(":")[2] or None, moment)
    show(schemas_picture(found), schemas_data(found))
    return 0


@archive.command("events")
def events(
    file: ArchiveFile,
    *,
    since: SinceOption = None,
    limit: EventsOption = MOST_EVENTS,
    output: OutputOption = Output.TEXT,
) -> None:
    """Show who did what to the archive: runs, takeovers, compactions, deletions, restores."""
    del output  # `show` reads it from the arguments
    from towpath.archive.log.happenings import history  # noqa: PLC0415  # help waits for none of it
    from towpath.archive.show.archive_events import as_json, picture  # noqa: PLC0415

    config = load_archive(file)
    found = history(config, 0 if since is None else time_of(since, now_ms()), limit)
    show(picture(found), as_json(config.archive, found))


@archive.command("query")
@with_options
def query(
    file: ArchiveFile,
    sql: Annotated[
        str,
        typer.Argument(
            metavar="SQL", help="A query in SQL; each topic is a view, all are `records`."
        ),
    ],
    *,
    topic: Annotated[
        list[str] | None,
        typer.Option(
            metavar="EXPRESSION",
            help="Only topics whose whole name matches; may be given several times.",
        ),
    ] = None,
    at: AtOption = None,
    version: VersionOption = None,
    history: HistoryOption = None,
    limit: Annotated[int, typer.Option(min=1, max=1_000_000, help="The most rows to show.")] = 1000,
    engine: Annotated[
        SqlEngine | None,
        typer.Option(
            help="What answers; by default DuckDB where it is installed and no --master is named,"
            " else Spark."
        ),
    ] = None,
    on: OnSpark,
    output: Annotated[
        RowsForm,
        typer.Option(
            "--output", "-o", help="Show a table, one JSON document, a JSON line per row, or CSV."
        ),
    ] = RowsForm.TEXT,
) -> int:
    """Ask an archive by SQL: each record once, of exactly the segments of a version."""
    expressions = require_expressions(tuple(topic or (".*",)), "--topic")
    moment = as_of(at, version, history)
    answers = sql_engine(engine, on.master)
    config = load_archive(file)
    spark = None
    if answers is SqlEngine.SPARK:
        spark = on.start(
            f"archive {config.archive}",
            ("towpath.archive.read.query.scan",),
            credentials=config.store.holds_credentials,
        )
    from towpath.archive.read.query.query import QueryWish  # noqa: PLC0415  # as in `run`
    from towpath.archive.read.query.query import query as ask  # noqa: PLC0415
    from towpath.archive.show.query_rows import rows_data, show_rows  # noqa: PLC0415
    from towpath.cli.show.bar import Bar  # noqa: PLC0415

    wish = QueryWish(sql=sql, topics=expressions, as_of=moment, most=limit, threads=on.parallelism)
    with Bar("querying", "tasks") as bar:
        answer = ask(config, wish, spark, bar.done)
    show_rows(answer, output)
    on.tell(rows_data(answer))
    return 0


archive.command("register")(register)
archive.command("verify")(verify)
