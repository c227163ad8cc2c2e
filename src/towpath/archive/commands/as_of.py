"""The command-line options that choose the version of an archive to read."""

from __future__ import annotations

from typing import Annotated

import typer

from towpath.archive.log import AsOf
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.model.foreign import foreign
from towpath.settings.times import parse_time

AtOption = Annotated[
    str | None,
    typer.Option(
        "--at",
        metavar="TIME",
        help="Take what was archived at this time, such as 2025-01-31T08:00:00Z.",
    ),
]
VersionOption = Annotated[
    int | None, typer.Option("--version", min=1, help="Take this version of the archive.")
]

HistoryOption = Annotated[
    int | None,
    typer.Option(
        "--history",
        min=0,
        help="Take partitions whose log was cut at the source as they were in this history.",
    ),
]


def as_of(at: str | None, version: int | None, history: int | None = None) -> AsOf:
    """Return the version, time or history of an archive that the options ask for.

    Raises:
        ConfigError: Both options are given, or the time is none.
    """
    if at is not None and version is not None:
        raise ConfigError((ConfigProblem("--version", "is not used with --at; name one of them"),))
    try:
        time = None if at is None else parse_time(at)
    except ValueError as error:
        raise ConfigError((ConfigProblem("--at", foreign(error)),)) from None
    return AsOf(version, time, history)
