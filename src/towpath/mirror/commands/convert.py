"""`towpath convert`: the file of a link from one of Redpanda Connect."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Group, RenderableType

from towpath.cli.show.output import Output, OutputOption, line, show
from towpath.mirror.connect.convert import LINK, ConvertedFile
from towpath.mirror.connect.convert import convert as converted
from towpath.mirror.show.connect_shapes import ConvertJson
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.settings.connect_files import is_connect


def convert(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A file of Redpanda Connect's migrator.")
    ],
    *,
    link: Annotated[
        str | None,
        typer.Option(
            LINK, help="The name of the link; by default the label in the file, or `migrator`."
        ),
    ] = None,
    into: Annotated[
        Path | None,
        typer.Option("--into", metavar="FILE", help="The new file; by default it is shown."),
    ] = None,
    output: OutputOption = Output.TEXT,
) -> None:
    """Write the file of a link that does what a file of Redpanda Connect does.

    Secrets are not written into it, nor shown: it refers to environment variables.
    """
    del output  # `show` reads it from the arguments
    if not is_connect(file):
        text = "is no file of Redpanda Connect with `redpanda_migrator` as its input and output"
        raise ConfigError((ConfigProblem(str(file), text),))
    made = converted(file, link)
    if into is not None:
        _write(into, made.text)
    show(Group(*_picture(made, into)), _data(made, into))


def _write(into: Path, text: str) -> None:
    try:
        with into.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        raise _refusal(f"{into} exists already; name another file") from None
    except OSError as error:
        raise _refusal(f"{into} cannot be written: {error.strerror}") from None


def _refusal(text: str) -> ConfigError:
    return ConfigError((ConfigProblem("--into", text),))


def _picture(made: ConvertedFile, into: Path | None) -> Iterator[RenderableType]:
    yield line(made.text.rstrip() if into is None else f"{into} written")
    behind = "# " if into is None else ""  # what is shown stays a file
    for variable, place in made.secrets:
        yield line(f"{behind}export {variable}: what stands at {place}")
    yield from (line(f"{behind}note: {note}") for note in made.notes)


def _data(made: ConvertedFile, into: Path | None) -> ConvertJson:
    return {
        "file": None if into is None else str(into),
        "text": made.text,
        "secrets": [{"variable": name, "place": place} for name, place in made.secrets],
        "notes": list(made.notes),
    }
