"""The shared parts of `towpath pause` and `towpath resume`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Group

from towpath.cli.show.output import line, show
from towpath.ledger.entries import Pause
from towpath.mirror.show.entries_json import pause_as_json
from towpath.mirror.show.run_shapes import PausesJson

TopicsOption = Annotated[
    str | None,
    typer.Option(metavar="TOPIC,..", help="The source topics; by default the whole link."),
]


def show_pauses(link: str, pauses: Sequence[Pause]) -> None:
    """Show the pauses of a link that are in force."""
    lines = [str(each) for each in pauses] or [f"nothing of link {link} is paused"]
    lines.append("a run of the link follows within seconds; `towpath status` shows it")
    data: PausesJson = {"link": link, "paused": [pause_as_json(each) for each in pauses]}
    show(Group(*map(line, lines)), data)
