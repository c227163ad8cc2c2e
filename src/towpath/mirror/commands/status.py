"""`towpath status`: show the state of a link."""

from __future__ import annotations

import re
import threading
from contextlib import nullcontext
from dataclasses import replace
from typing import Annotated

import typer
from rich.console import Group, RenderableType

from towpath.cli.options import LinkFile, WatchOption, pattern_of
from towpath.cli.show.output import Output, OutputOption, console, line, show
from towpath.cli.signals import stopping
from towpath.mirror.show.status_json import link_as_json
from towpath.mirror.show.status_picture import link_picture
from towpath.mirror.status.totals import SortOrder
from towpath.mirror.status.whole_link import LinkLook, LinkStatus, looking
from towpath.model.errors import ClusterError, ConfigError, ConfigProblem, UnreachableError
from towpath.runtime.clock import now_ms, readable
from towpath.settings import load
from towpath.topics.at_risk import at_risk

_PAUSE = 2.0
"""Seconds between two looks of `--watch`."""
_AROUND = 8
"""Lines of a terminal that `--watch` keeps for what stands above and below the table."""


def status(
    file: LinkFile,
    *,
    topics: Annotated[
        str,
        typer.Option(
            metavar="PATTERN",
            help="Show only source topics whose whole name matches this regular expression.",
        ),
    ] = ".*",
    sort: Annotated[
        SortOrder | None,
        typer.Option(
            help="Sort by this; by default text shows what is in trouble first, then by lag, and"
            " JSON is sorted by name."
        ),
    ] = None,
    watch: WatchOption = False,
    output: OutputOption = Output.TEXT,
) -> int:
    """Show the state of each partition, from the target's ledger and both clusters."""
    if watch and output is Output.JSON:
        raise _refusal("--watch", "shows text only; leave out `--output json`")
    pattern = pattern_of(topics)
    config = load(file, transforms=True)
    with looking(config) as look:
        if watch:
            with stopping() as stop:
                return _watch(look, pattern, sort or SortOrder.TROUBLE, stop)
        seen = _once(look, pattern)
    show(
        link_picture(seen, sort or SortOrder.TROUBLE),
        link_as_json(seen, sort or SortOrder.NAME),
    )
    return _exit_code(seen)


def _once(look: LinkLook, topics: re.Pattern[str]) -> LinkStatus:
    """Look once, also at what the target deletes by settings that are not held back."""
    seen = look.once(topics)
    if seen.source_gone:
        return seen
    found = at_risk(look.config, look.source, look.target, look.books)
    return replace(
        seen,
        at_risk=tuple(each for each in found.found if topics.fullmatch(each.topic)),
        unforeseen={name: why for name, why in found.unknown.items() if topics.fullmatch(name)},
    )


def _watch(look: LinkLook, topics: re.Pattern[str], sort: SortOrder, stop: threading.Event) -> int:
    """Show the link again and again, in place on a terminal, until the user stops it."""
    from rich.live import Live  # noqa: PLC0415  # it loads much that a single look does not need

    screen = console()
    seen, live = _once(look, topics), None
    if screen.is_terminal:
        live = Live(console=screen, auto_refresh=False)
    with live or nullcontext():
        trouble = ""
        while True:
            most = max(1, screen.height - _AROUND) if live else None
            parts: list[RenderableType] = [link_picture(seen, sort, most)]
            parts += [line(trouble)] if trouble else []
            if live:
                live.update(Group(*parts), refresh=True)
            else:
                screen.print(*parts, "", sep="\n")
            if stop.wait(_PAUSE):
                return _exit_code(seen)
            try:
                seen, trouble = _once(look, topics), ""
            except ClusterError as error:
                trouble = f"not looked at since {readable(now_ms())}: {error}"


def _exit_code(seen: LinkStatus) -> int:
    if seen.source_gone:
        return UnreachableError.exit_code
    lacking = any(row.left_out or row.lacks for row in seen.rows)
    return 3 if seen.lost or seen.at_risk or lacking else 0


def _refusal(option: str, text: str) -> ConfigError:
    return ConfigError((ConfigProblem(option, text),))
