"""`towpath schema`: the JSON schema of the file, for editors."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from towpath.cli.show.output import Output, OutputOption
from towpath.settings.kinds import FileKind
from towpath.settings.schema import text


def schema(
    *,
    kind: Annotated[
        FileKind, typer.Option(help="What the file describes: a link, an archive, or a migration.")
    ] = FileKind.LINK,
    output: OutputOption = Output.JSON,
) -> None:
    """Print the JSON schema of the file, for completion and checks in editors."""
    del output  # a schema is JSON in any case
    sys.stdout.write(text(kind))
