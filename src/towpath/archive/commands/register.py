"""`towpath archive register`: register an archive's files as Iceberg tables, once or repeatedly."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from towpath.archive.commands import LEFT_OUT
from towpath.archive.config import load_archive
from towpath.cli.options import ArchiveFile, LogFormatOption, LogLevelOption, logs_wanted
from towpath.cli.show.output import Output, OutputOption, show
from towpath.cli.signals import stopping
from towpath.model.errors import ConfigError, ConfigProblem, StoreError
from towpath.model.foreign import foreign
from towpath.runtime import log as logging
from towpath.settings import Duration

if TYPE_CHECKING:
    from towpath.archive.upkeep.iceberg.register import Registration

_LEAST = 1.0


def register(
    file: ArchiveFile,
    *,
    every: Annotated[
        str | None,
        typer.Option(
            metavar="DURATION",
            help="Register again and again with this pause, such as 5m, until Ctrl-C or SIGTERM.",
        ),
    ] = None,
    log_level: LogLevelOption = None,
    log_format: LogFormatOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Register the files of an archive as Iceberg tables, in the catalog that the file names."""
    del output  # `show` reads it from the arguments
    pause = None if every is None else _pause(every)
    config = load_archive(file)
    logs = logs_wanted(log_level, log_format)
    if logs is not None or pause is not None:
        logging.begin(logs or logging.LogWanted())
    from towpath.archive.show.registration import (  # noqa: PLC0415
        registered_data,
        registered_picture,
        round_facts,
    )
    from towpath.archive.upkeep.iceberg import register as work  # noqa: PLC0415  # help waits
    from towpath.cli.show.bar import Bar  # noqa: PLC0415

    def told(done: Registration | StoreError) -> None:
        facts, trouble = round_facts(done)
        logging.event("register.round", config.archive, "", facts, trouble=trouble)

    if pause is None:
        with Bar("registering", "tables") as bar:
            done = work.register(config, bar.done)
    else:
        with stopping() as stop:
            done = work.keep_registered(config, pause, stop, told)
    show(registered_picture(done), registered_data(done))
    return 0 if done.complete else LEFT_OUT


def _pause(text: str) -> float:
    """Return the seconds that `--every` means.

    Raises:
        ConfigError: It is no duration, or too short.
    """
    try:
        found = float(Duration.parse(text))
    except ValueError as error:
        raise ConfigError((ConfigProblem("--every", foreign(error)),)) from None
    if found < _LEAST:
        raise ConfigError((ConfigProblem("--every", "is too short; write at least 1s"),))
    return found
