"""`towpath lint`: check a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from towpath.cli.options import LinkFile
from towpath.cli.show.file_shapes import LintJson
from towpath.cli.show.output import Output, OutputOption, show
from towpath.model.errors import ConfigError
from towpath.settings import check
from towpath.settings.loading import notes as notes_of


def lint(
    file: LinkFile,
    *,
    environment: Annotated[
        bool,
        typer.Option(
            help="Whether variables, secrets and certificates must exist on this machine."
        ),
    ] = True,
    output: OutputOption = Output.TEXT,
) -> None:
    """Report all problems of the file at once, without touching a cluster."""
    del output  # `show` reads it from the arguments
    problems = check(file, with_environment=environment)
    if problems:
        raise ConfigError(problems)
    notes = _notes(file)
    text = "\n".join([f"{file}: no problems", *(f"note: {each}" for each in notes)])
    data: LintJson = {"file": str(file), "problems": [], "notes": notes}
    show(text, data)


def _notes(file: Path) -> list[str]:
    """Return what a person should know of a file that has no problem."""
    try:
        return [*notes_of(file)]
    except ConfigError:  # this machine lacks its secrets
        return []
