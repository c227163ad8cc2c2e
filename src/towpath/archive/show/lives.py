"""The display of the lives of archived topics. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType

from towpath.archive.read.lives import TopicLife
from towpath.archive.show.reading_shapes import LifeJson, LivesJson
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


def lives_data(found: Sequence[TopicLife]) -> LivesJson:
    """Return lives for programs; times as text."""
    return {"lives": list(map(_life_data, found))}


def _life_data(life: TopicLife) -> LifeJson:
    return {
        "topic": life.topic,
        "id": life.id,
        "latest": life.latest,
        "partitions": life.partitions,
        "records": life.records,
        "filtered": life.filtered,
        "begun": _time(life.begun),
        "seen": readable(life.seen),
        "first": _time(life.first),
        "last": _time(life.last),
    }


def _time(at: int | None) -> str | None:
    return None if at is None else readable(at)
