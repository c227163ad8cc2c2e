"""`towpath import mm2`: make our files from MirrorMaker 2's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Group, RenderableType

from towpath.cli.show.grid import Grid
from towpath.cli.show.output import Output, OutputOption, line, show
from towpath.config import check
from towpath.mm2.convert import Conversion, Converted, convert
from towpath.mm2.flows import Fate
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.foreign import foreign

NOT_ALL = 3

importing = typer.Typer(help="Make files of ours from those of other tools.", no_args_is_help=True)


@importing.callback()
def _group() -> None:
    """Make files of ours from those of other tools."""


@importing.command()
def mm2(
    properties: Annotated[
        Path,
        typer.Argument(
            metavar="PROPERTIES", help="MirrorMaker 2's file, such as connect-mirror.properties."
        ),
    ],
    *,
    into: Annotated[
        Path, typer.Option("--into", metavar="FOLDER", help="Folder for the new files.")
    ] = Path(),
    output: OutputOption = Output.TEXT,
) -> int:
    """Write a YAML file for each flow of MirrorMaker 2's file, and tell what has no equal.

    Secrets are not written into these files, nor shown: they refer to environment variables.
    """
    del output  # `show` reads it from the arguments
    made = convert(_text(properties), properties.name)
    files = {into / f"{each.flow.name}.yaml": each for each in made.files}
    _write(files)
    show(Group(*_picture(files, made)), _data(files, made))
    return NOT_ALL if made.with_fate(Fate.NO_EQUAL) else 0


def _text(file: Path) -> str:
    try:
        return file.read_text("utf-8")
    except UnicodeDecodeError:
        return file.read_text("latin-1")  # as Java did before version 9
    except OSError as error:
        raise _refusal(file, f"cannot be read: {foreign(error)}") from None


def _write(files: dict[Path, Converted]) -> None:
    """Write all files, or none where one of them exists."""
    for file in files:
        if file.exists():
            raise _refusal(file, "already exists; move it, or name another folder with --into")
    for file, made in files.items():
        try:
            with file.open("x", encoding="utf-8") as stream:
                stream.write(made.text)
        except OSError as error:
            raise _refusal(file, f"cannot be written: {error.strerror}") from None


def _refusal(file: Path, why: str) -> ConfigError:
    return ConfigError((ConfigProblem("", f"{file}: {why}"),))


def _picture(files: dict[Path, Converted], made: Conversion) -> Iterator[RenderableType]:
    for file, each in files.items():
        yield line(f"{file} written for the flow {each.flow}")
        yield from (line(f"  {secret}") for secret in each.secrets)
        yield from (line(f"  note: {note}") for note in each.notes)
        problems = check(file, with_environment=False)
        yield from (line(f"  to correct: {problem}") for problem in problems)
    for fate, heading in (
        (Fate.BY_HAND, "To do by hand before the first run:"),
        (Fate.NO_EQUAL, "No equal here:"),
        (Fate.NEEDLESS, "Not needed here:"),
    ):
        facts = made.with_fate(fate)
        if facts:
            yield line("")
            yield line(heading)
            rows = [(fact.key, fact.text) for fact in facts]
            yield Grid(("property", "why, and what to do"), rows, below=("why, and what to do",))
    taken = len(made.with_fate(Fate.TAKEN))
    yield line("")
    yield line(f"{taken} properties taken over; next: `towpath lint {next(iter(files))}`")


def _data(files: dict[Path, Converted], made: Conversion) -> dict[str, Any]:
    return {
        "files": [
            {
                "file": str(file),
                "flow": str(each.flow),
                "secrets": [
                    {"variable": s.variable, "property": s.key, "what": s.what}
                    for s in each.secrets
                ],
                "notes": list(each.notes),
                "problems": [str(p) for p in check(file, with_environment=False)],
            }
            for file, each in files.items()
        ],
        "properties": [
            {"property": fact.key, "fate": str(fact.fate), "text": fact.text} for fact in made.facts
        ],
    }
