"""`towpath topics`: stop topics for good, and take them up again."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Group

from towpath.cli.options import LinkFile, topics_of
from towpath.cli.show.output import Output, OutputOption, line, show
from towpath.ledger import stops
from towpath.mirror.show.run_shapes import StoppedTopicsJson
from towpath.mirror.show.shapes import state_as_json
from towpath.model.amounts import counted, shortened
from towpath.settings import load

topics = typer.Typer(
    help="Stop topics for good, and take them up again.",
    no_args_is_help=True,
)

_NAMED = 20
TopicsOption = Annotated[
    str, typer.Option("--topics", metavar="TOPIC,..", help="The source topics.")
]


@topics.command("stop")
def stop(file: LinkFile, *, names_: TopicsOption, output: OutputOption = Output.TEXT) -> None:
    """Stop copying topics for good: no run finds them again by itself. The mirror topics stay."""
    del output  # `show` reads it from the arguments
    config = load(file)
    _show(config.link, stops.stop(config, topics_of(names_)))


@topics.command("start")
def start(file: LinkFile, *, names_: TopicsOption, output: OutputOption = Output.TEXT) -> None:
    """Take stopped topics up again, at the offsets where they were left."""
    del output  # `show` reads it from the arguments
    config = load(file)
    _show(config.link, stops.start(config, topics_of(names_)))


def _show(link: str, found: stops.StoppedTopics) -> None:
    lines = [str(each) for each in found.states] or [f"no topic of link {link} is stopped"]
    if found.held:
        lines.append(
            f"{counted(len(found.held), 'mirror topic')} among them still keeps all records, as"
            " retention was held back while it was filled; set it on the target:"
            f" {shortened(found.held, _NAMED)}"
        )
    lines.append("a run of the link follows within seconds; `towpath status` shows it")
    data: StoppedTopicsJson = {
        "link": link,
        "stopped": [state_as_json(each) for each in found.states],
        "held": [*found.held],
    }
    show(Group(*map(line, lines)), data)
