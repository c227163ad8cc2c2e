"""`towpath init`: write an example file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from towpath.cli.examples import example
from towpath.cli.show.file_shapes import WrittenExampleJson
from towpath.cli.show.output import Output, OutputOption, show
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.settings.kinds import FileKind


def init(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Path of the new file.")] = Path(
        "towpath.yaml"
    ),
    *,
    kind: Annotated[
        FileKind, typer.Option(help="What the file describes: a link, an archive, or a migration.")
    ] = FileKind.LINK,
    output: OutputOption = Output.TEXT,
) -> None:
    """Write a commented example file to start from; an existing file is never overwritten."""
    del output  # `show` reads it from the arguments
    try:
        with file.open("x", encoding="utf-8") as stream:
            stream.write(example(kind))
    except FileExistsError:
        raise _refusal(file, "already exists; choose another file name or move it") from None
    except OSError as error:
        raise _refusal(file, f"cannot be written: {error.strerror}") from None
    data: WrittenExampleJson = {"file": str(file)}
    show(f"{file} written; adapt it, then run `towpath lint {file}`", data)


def _refusal(file: Path, why: str) -> ConfigError:
    return ConfigError((ConfigProblem("", f"{file}: {why}"),))
