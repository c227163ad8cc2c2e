"""The display of the cold objects of a restore, for people."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType

from towpath.archive.restore.limits import thawing_time
from towpath.archive.restore.thawing import Thawing
from towpath.cli.show.output import line
from towpath.model.amounts import count, counted, size, span


def thaw_picture(seen: Thawing) -> RenderableType:
    """Return the cold objects and the requested thaw, for people."""
    return Group(*map(line, _lines(seen)))


def _lines(seen: Thawing) -> Iterator[str]:
    yield f"{seen.task.name}: {counted(seen.readable, 'object')} can be read"
    if seen.missing:
        yield f"✗ {counted(seen.missing, 'object')} missing; `towpath restore plan` names them"
    for name, some in seen.classes.items():
        total, asked = sum(each.size for each in some), sum(each.thawing for each in some)
        what = f"{counted(len(some), 'cold object')} with {size(total)}"
        what += f" in {name or 'an archive tier'}"
        yield f"{what}, {count(asked)} being thawed; it takes up to {span(thawing_time(name))}"
    waiting = seen.waiting
    if not waiting:
        yield "nothing to ask for"
    elif seen.wish.asks:
        done = len(waiting) - len(seen.failed)
        yield (
            f"asked for {counted(done, 'object')}, {seen.wish.speed}, to stay readable for"
            f" {counted(seen.wish.days, 'day')}; the restore may begin now, and waits for them"
        )
    else:
        total = sum(each.size for each in waiting)
        yield (
            f"would be asked for: {counted(len(waiting), 'object')} with {size(total)}; nothing was"
            " done: add --yes"
        )
    yield from (f"✗ {key}: {why}" for key, why in sorted(seen.failed.items()))
