"""`towpath salvage`: keep, list and replay the records that one cluster alone has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from towpath.cli.confirming import confirmed
from towpath.cli.options import LinkFile, YesOption, topics_of
from towpath.cli.show.bar import Bar
from towpath.cli.show.output import Output, OutputOption, console, show
from towpath.cli.signals import stopping
from towpath.mirror.failback.salvage.replay import SalvagedPartition
from towpath.mirror.failback.salvaged import ReplayWish, list_salvaged, replay_salvaged
from towpath.mirror.failback.strays import KeepWish, keep_strays
from towpath.mirror.show.failback_picture import (
    kept_as_json,
    kept_picture,
    salvage_as_json,
    salvage_picture,
)
from towpath.model.errors import ConfigError, ConfigProblem
from towpath.settings import load

salvage = typer.Typer(
    help="Keep, show and replay what one cluster alone had, where the other one's records stayed.",
    no_args_is_help=True,
)

NOT_ALL = 3
"""Exit code where a record was salvaged that was not replayed, or could not be."""

TopicsOption = Annotated[
    str | None,
    typer.Option(
        metavar="TOPIC,..", help="Only these topics: by their names on either side of the link."
    ),
]


@salvage.command("keep")
def keep(
    file: LinkFile,
    *,
    topics: TopicsOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """Copy what came to the source after its topics had moved to salvage topics on the target."""
    del output  # `show` reads it from the arguments
    config = load(file)
    with stopping() as stop, Bar("keeping", "records") as bar:
        kept = keep_strays(config, KeepWish(frozenset(topics_of(topics)), stop, bar.done))
    show(kept_picture(config.link, kept), kept_as_json(config.link, kept))
    return NOT_ALL if kept.left else 0


@salvage.command("ls")
def ls(
    file: LinkFile,
    *,
    topics: TopicsOption = None,
    output: OutputOption = Output.TEXT,
) -> int:
    """List what is in salvage topics, and how much of it was replayed."""
    del output  # `show` reads it from the arguments
    config = load(file)
    found = list_salvaged(config, frozenset(topics_of(topics)))
    show(salvage_picture(config.link, found), salvage_as_json(config.link, found))
    return NOT_ALL if any(each.left or each.missing or each.trouble for each in found) else 0


@salvage.command("replay")
def replay(
    file: LinkFile,
    *,
    topics: TopicsOption = None,
    everything: Annotated[bool, typer.Option("--all", help="Replay all of the link.")] = False,
    yes: YesOption = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Write salvaged records to the ends of their topics, in their order, each once."""
    del output  # `show` reads it from the arguments
    config = load(file)
    if topics is None and not everything:
        text = "name topics, or all of the link with --all"
        raise ConfigError((ConfigProblem("--topics", text),))
    with stopping() as stop, Bar("replaying", "records") as bar:

        def agreed(due: Sequence[SalvagedPartition]) -> bool:
            with bar.away():
                console(stderr=True).print(salvage_picture(config.link, due))
                return yes or confirmed("Replay these?")

        wish = ReplayWish(frozenset(topics_of(topics)), agreed, stop, bar.done)
        found = replay_salvaged(config, wish)
    show(salvage_picture(config.link, found), salvage_as_json(config.link, found))
    left = any(each.left or each.missing or each.trouble for each in found)
    return NOT_ALL if left or not found else 0
