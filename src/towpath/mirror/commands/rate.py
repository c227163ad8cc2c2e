"""`towpath rate`: show or change the limits of a link in bytes per second."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Group

from towpath.cli.options import LinkFile, rate_of, topics_of
from towpath.cli.show.output import Output, OutputOption, line, show
from towpath.ledger import rates
from towpath.mirror.commands.pausing import TopicsOption
from towpath.mirror.show.limits import as_data
from towpath.mirror.show.run_shapes import RateJson
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.settings import ByteRate, load

_NO_LIMIT = "none"


def rate(
    file: LinkFile,
    limit: Annotated[
        str | None,
        typer.Argument(
            metavar="[RATE]",
            help="Bytes per second, such as 50MB, or `none`; without it, nothing is changed.",
            show_default=False,
        ),
    ] = None,
    *,
    topics: TopicsOption = None,
    reset: Annotated[
        bool, typer.Option("--reset", help="Let the limits of the file hold again.")
    ] = False,
    output: OutputOption = Output.TEXT,
) -> None:
    """Show or change the rate limits of a link, which outlast restarts."""
    del output  # `show` reads it from the arguments
    wanted, config = _read(limit, reset=reset), load(file)
    if reset:
        held = rates.reset_rate(config, topics_of(topics))
    elif limit is None:
        held = rates.limits(config)
    else:
        held = rates.set_rate(config, wanted, topics_of(topics))
    lines = [*held.sentences] or [f"link {config.link} has no limit"]
    if reset or limit is not None:
        lines.append("a run of the link follows within seconds; `towpath status` shows it")
    data: RateJson = {"link": config.link, "max_rate": as_data(held)}
    show(Group(*map(line, lines)), data)


def _read(limit: str | None, *, reset: bool) -> ByteRate | None:
    if reset and limit is not None:
        raise ConfigError((ConfigProblem("--reset", "takes no rate; leave out one of both"),))
    if limit is None or limit == _NO_LIMIT:
        return None
    return rate_of(limit, "RATE", f", or {_NO_LIMIT}")
