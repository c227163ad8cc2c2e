"""`towpath resume`: continue with paused topics."""

from __future__ import annotations

from towpath.cli.options import LinkFile, topics_of
from towpath.cli.show.output import Output, OutputOption
from towpath.ledger import pauses
from towpath.mirror.commands.pausing import TopicsOption, show_pauses
from towpath.settings import load


def resume(
    file: LinkFile, *, topics: TopicsOption = None, output: OutputOption = Output.TEXT
) -> None:
    """Resume paused topics, each at its last position."""
    del output  # `show` reads it from the arguments
    config = load(file, transforms=True)
    show_pauses(config.link, pauses.resume(config, topics_of(topics)))
