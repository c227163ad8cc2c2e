"""`towpath kraft`: migrate a cluster from ZooKeeper to KRaft, or roll the migration back."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from towpath.cli.confirming import confirmed
from towpath.cli.show.output import Form, FormOption, Output, OutputOption, console, line, show
from towpath.cli.signals import stopping
from towpath.kraft.facts.nouns import Goal
from towpath.model.errors import ConfigError, ConfigProblem

if TYPE_CHECKING:
    from towpath.kraft.run.loop import RunEnd
    from towpath.kraft.run.migration import Migration
    from towpath.kraft.show.kraft_shapes import KraftReportJson

NOT_REACHED = 3
kraft = typer.Typer(
    help="Bring a cluster from ZooKeeper to KRaft, step by step, and back while it can go back.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
KraftFile = Annotated[Path, typer.Argument(metavar="FILE", help="The YAML file of the migration.")]
GoalOption = Annotated[
    Goal,
    typer.Option(
        "--to",
        help="Where to: `dual_write` (all brokers in KRaft mode, ZooKeeper kept in step), `final`,"
        " or back to `zookeeper`.",
    ),
]
LostOption = Annotated[
    list[int] | None,
    typer.Option(
        "--reformat",
        metavar="ID",
        help="Controller whose disk is lost for good: format its folder anew while the others lead"
        " and hold everything. Look first whether its volume is mounted.",
    ),
]
YesOption = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]


@kraft.command()
def check(file: KraftFile, *, output: OutputOption = Output.TEXT) -> int:
    """Find everything that would stop a migration, or lose something in it."""
    del output  # `show` reads it from the arguments
    with _migration(file) as migration:
        from towpath.kraft.show.data import findings_data  # noqa: PLC0415
        from towpath.kraft.show.pictures import findings_picture  # noqa: PLC0415

        findings = migration.check()
    show(findings_picture(findings), findings_data(findings))
    return NOT_REACHED if any(each.severity == "stop" for each in findings) else 0


@kraft.command()
def plan(
    file: KraftFile,
    *,
    to: GoalOption = Goal.DUAL_WRITE,
    manifests: Annotated[
        Path | None,
        typer.Option(
            metavar="FOLDER",
            help="Write the steps there as manifests and commands for `kubectl`, with the ways"
            " back, for nodes in Kubernetes.",
        ),
    ] = None,
    output: FormOption = Form.TEXT,
) -> int:
    """Show every step to a goal, its changes, and how it would be undone; change nothing."""
    del output  # `show` reads it from the arguments
    with _migration(file) as migration:
        from towpath.kraft.show.data import outline_data  # noqa: PLC0415
        from towpath.kraft.show.pictures import outline_markdown, outline_picture  # noqa: PLC0415

        seen, outline = migration.outline(to)
        if manifests is not None:
            _write_manifests(manifests, migration.manifests(seen, outline, to))
    show(
        outline_picture(seen, outline), outline_data(seen, outline), outline_markdown(seen, outline)
    )
    return NOT_REACHED if outline.refusals or outline.first else 0


@kraft.command()
def status(
    file: KraftFile,
    *,
    watch: Annotated[
        float | None,
        typer.Option(
            min=1,
            metavar="SECONDS",
            help="Look again and again until Ctrl-C, show what changes, and serve metrics.",
        ),
    ] = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show the state of a migration, each node, and the differences between both stores."""
    del output  # `show` reads it from the arguments
    with stopping() as stop, _migration(file) as migration:
        from towpath.kraft.show import data  # noqa: PLC0415
        from towpath.kraft.show import pictures as shown  # noqa: PLC0415

        if watch is None:
            facts = migration.look()
        else:
            facts = migration.watch(watch, stop, shown.KraftDisplay().show)
    show(shown.status_picture(facts), data.status_data(facts))
    return 0 if data.is_well(facts) else NOT_REACHED


@kraft.command()
def run(
    file: KraftFile,
    *,
    reformat: LostOption = None,
    yes: YesOption = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Migrate until all brokers are in KRaft mode and both stores are written; ZooKeeper stays."""
    del output  # `show` reads it from the arguments
    return _bring(file, Goal.DUAL_WRITE, yes=yes, lost=reformat or ())


@kraft.command()
def rollback(file: KraftFile, *, yes: YesOption = False, output: OutputOption = Output.TEXT) -> int:
    """Go back to ZooKeeper from any stage of a migration before it is finalized."""
    del output  # `show` reads it from the arguments
    return _bring(file, Goal.ZOOKEEPER, yes=yes)


@kraft.command()
def finalize(
    file: KraftFile,
    *,
    confirm: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="The migration's name: nothing leads back behind this command."
        ),
    ] = None,
    reformat: LostOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Leave ZooKeeper for good. There is no way back from the first controller's restart on."""
    del output  # `show` reads it from the arguments
    return _bring(file, Goal.FINAL, yes=False, name=confirm, lost=reformat or ())


@kraft.command()
def report(
    file: KraftFile,
    *,
    to: Annotated[
        Path | None, typer.Option(metavar="PAGE", help="Where to write. Default: beside the file.")
    ] = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Write one HTML page with the migration's state, steps, durations and proofs."""
    del output  # `show` reads it from the arguments
    page = to or file.with_suffix(".html")
    with _migration(file) as migration:
        from towpath.kraft.show.report import report_data, report_page  # noqa: PLC0415

        told = report_data(migration.config.kraft, migration.look(), migration.journal.entries())
    try:
        page.write_text(report_page(told), encoding="utf-8")
    except OSError as error:
        raise _refusal("--to", f"{page} cannot be written: {error.strerror}") from error
    data: KraftReportJson = {"page": str(page), **told}
    show(f"{page} written", data)
    return 0


def _write_manifests(folder: Path, told: Mapping[str, str] | None) -> None:
    """Write manifests, and say where.

    Raises:
        ConfigError: Nodes are no pods, or the folder cannot be used.
    """
    from towpath.kraft.run.manifests import STEPS, write_pages  # noqa: PLC0415

    if told is None:
        raise _refusal("--manifests", "the nodes of this file are not in Kubernetes (`driver.via`)")
    try:
        write_pages(folder, told)
    except OSError as error:
        raise _refusal("--manifests", f"{folder} cannot be used: {error.strerror}") from error
    console(stderr=True).print(line(f"{len(told)} files written; begin with {folder / STEPS}"))


@contextmanager
def _migration(file: Path, lost: Iterable[int] = ()) -> Iterator[Migration]:
    from towpath.kraft.config import load_kraft  # noqa: PLC0415  # help waits for none of it

    config = load_kraft(file)
    if others := set(lost) - {each.id for each in config.controllers.nodes}:
        named = ", ".join(map(str, sorted(others)))
        raise _refusal("--reformat", f"the file names no controller {named}")
    from towpath.kraft.run.migration import Migration  # noqa: PLC0415

    with Migration(config, lost) as migration:
        yield migration


def _bring(
    file: Path, goal: Goal, *, yes: bool, name: str | None = None, lost: Iterable[int] = ()
) -> int:
    with _migration(file, lost) as migration:
        from towpath.kraft.findings.findings import stops  # noqa: PLC0415
        from towpath.kraft.run.loop import RunEnd  # noqa: PLC0415
        from towpath.kraft.show import pictures as shown  # noqa: PLC0415

        if (over := migration.over(goal)) is not None:
            return _ended(over)
        with migration.alone(lambda held: console(stderr=True).print(line(str(held)))) as lock:
            facts, planned = migration.outline(goal)
            notes = migration.concerns(facts, goal)
            if barred := (*planned.first, *stops(notes)):
                return _ended(RunEnd(facts.standing, 0, barred))
            if planned.steps:
                is_asked = not yes and name is None
                picture = shown.outline_picture if is_asked else shown.outline_summary
                console(stderr=True).print(picture(facts, planned))
                console(stderr=True).print(shown.notes_picture(notes))
                _require_agreed(migration.config.kraft, goal, yes=yes, name=name)
                migration.approve(facts, goal, planned, notes)
            # Before this, a signal interrupts: nothing is begun while somebody is asked.
            with stopping() as stop:
                end = migration.bring_to(goal, stop, shown.KraftDisplay().show, lock)
    return _ended(replace(end, notes=(*notes, *end.notes)))


def _ended(end: RunEnd) -> int:
    from towpath.kraft.show.data import end_data  # noqa: PLC0415
    from towpath.kraft.show.pictures import end_picture  # noqa: PLC0415

    show(end_picture(end), end_data(end))
    return 0 if end.reached else NOT_REACHED


def _require_agreed(migration: str, goal: Goal, *, yes: bool, name: str | None) -> None:
    """Ask a person, who types the migration's name where nothing leads back.

    Raises:
        ConfigError: Nobody agreed.
    """
    if goal is Goal.FINAL:
        given = name if name is not None else _typed(migration)
        if given != migration:
            raise _refusal("--confirm", f"{given!r} is not the name of the migration: {migration}")
    elif not yes and not confirmed("Do these steps?"):
        raise _refusal("--yes", "not confirmed, so nothing was done")


def _typed(migration: str) -> str:
    if not sys.stdin.isatty():
        raise _refusal(
            "--confirm",
            f"not a terminal, so no confirmation is possible; add --confirm {migration}",
        )
    text = "Nothing leads back from here on. Type the name of the migration to go on"
    return str(typer.prompt(text, err=True))


def _refusal(option: str, text: str) -> ConfigError:
    return ConfigError((ConfigProblem(option, text),))
