"""`towpath lint`: check the file."""

from __future__ import annotations

from typing import Annotated

import typer

from towpath.cli.options import LinkFile
from towpath.cli.show.output import Output, OutputOption, show
from towpath.config import check
from towpath.model.errors import ConfigError


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
    show(f"{file}: no problems", {"file": str(file), "problems": []})
