"""The display of the lives of archived topics. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType

from towpath.archive.read.lives import TopicLife
from towpath.cli.show.grid import Grid
from towpath.cli.show.output import line
from towpath.model.amounts import count
from towpath.runtime.clock import readable

_LIVES = ("topic", "life", "partitions", "records", "filtered", "archived from", "seen until")


def lives_picture(found: Sequence[TopicLife]) -> RenderableType:
    """Return a table of topic lives, for people."""
    if not found:
        return line("no topic")
    rows = [
        (
            each.topic,
            f"{each.id}{' (latest)' if each.latest else ''}",
            str(each.partitions),
            count(each.records),
            count(each.filtered),
            "-" if each.begun is None else readable(each.begun),
            readable(each.seen),
        )
        for each in found
    ]
    return Grid(_LIVES, rows, right=_LIVES[2:5], whole=["life"])
