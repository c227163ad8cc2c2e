"""`towpath pause`: stop copying topics for a while."""

from __future__ import annotations

from towpath.cli.options import LinkFile, topics_of
from towpath.cli.show.output import Output, OutputOption
from towpath.ledger import pauses
from towpath.mirror.commands.pausing import TopicsOption, show_pauses
from towpath.settings import load


def pause(
    file: LinkFile, *, topics: TopicsOption = None, output: OutputOption = Output.TEXT
) -> None:
    """Pause topics or the whole link, also over restarts, until `towpath resume`."""
    del output  # `show` reads it from the arguments
    config = load(file, transforms=True)
    show_pauses(config.link, pauses.pause(config, topics_of(topics)))
